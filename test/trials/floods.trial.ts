import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';
import { report } from '../support/trials.ts';

const gigabyte = 1024 ** 3;

test.each([
  [
    '1 GB of lines',
    `yes 'a line of output that an agent might print, again and again' | head -c ${gigabyte}`,
    gigabyte,
  ],
  ['200 MB of binary', 'head -c 200000000 /dev/urandom', 200_000_000],
  ['one line of 1 GB', `head -c ${gigabyte} /dev/zero | tr '\\0' x`, gigabyte],
])('%s', async (what, flood, bytes) => {
  const project = createProject({ agent: [`${flood}; echo; ${promise}`] });

  const result = await project.spool('ralph', '--change', change, '--no-stream');

  expect(result).toMatchObject({ code: 0 });
  const [record] = project.history();
  const log = project.path(`.spool/.state/ralph/${change}/runs/${record!.run}/0001.log`);
  expect(statSync(log).size).toBeGreaterThanOrEqual(bytes * 0.999);
  report({ what, trials: 1, found: 'in the log, and the promise after it found' });
});
