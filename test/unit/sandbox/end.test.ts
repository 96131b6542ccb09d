import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { processStart } from '../../../src/process/start-time.ts';
import { awaitEnd } from '../../../src/sandbox/end.ts';

test('awaitEnd reports a process that does not end in time, and terminates it', async () => {
  const child = spawn('sleep', ['600']);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const first = { pid: child.pid!, start: processStart(child.pid!)! };

  expect(await awaitEnd(first, 0)).toBe(false);
  expect(processStart(first.pid)).toBe(first.start);
  expect(await awaitEnd(first)).toBe(true);
  expect(processStart(first.pid)).toBe(null);
  expect(await awaitEnd(null)).toBe(true);
});
