import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { processStart } from '../../../src/process/start-time.ts';
import { killNamespace } from '../../../src/sandbox/namespace.ts';

test('reports a namespace that does not exit in time, and kills one that can be killed', async () => {
  const child = spawn('sleep', ['600']);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const init = { pid: child.pid!, start: processStart(child.pid!)! };

  expect(await killNamespace(init, 0)).toBe(false);
  expect(processStart(init.pid)).toBe(init.start);
  expect(await killNamespace(init)).toBe(true);
  expect(processStart(init.pid)).toBe(null);
  expect(await killNamespace(null)).toBe(true);
});
