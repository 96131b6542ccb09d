import { expect, test } from 'vitest';
import { isMachineProblem } from '../../../src/cluster/attempt/machine-problem.ts';
import { asUserError } from '../../../src/errors.ts';

/** The error of a system call, as a run throws it. */
const systemError = (code: string) =>
  Object.assign(new Error(`${code}: it failed, write`), {
    code,
    syscall: 'write',
    errno: -1,
    path: '/data/history.jsonl',
  });

test.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'ENOMEM'])(
  '%s is a problem of the machine, as people read it',
  (code) => {
    expect(isMachineProblem(asUserError(systemError(code))!.message)).toBe(true);
  },
);

test.each(['ENOENT', 'EACCES', 'EISDIR'])('%s is a problem of the change', (code) => {
  expect(isMachineProblem(asUserError(systemError(code))!.message)).toBe(false);
});
