import { expect, test } from 'vitest';
import { countTime } from '../../../src/process/timers.ts';

test('time in which the process was suspended does not count', async () => {
  const passed = new Promise<number>((resolve) => {
    const stop = countTime(100, (ms) => {
      stop();
      resolve(ms);
    });
  });
  // Nothing runs in between, as in a process that is suspended.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);

  expect(await passed).toBeLessThanOrEqual(75);
});
