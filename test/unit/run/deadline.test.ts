import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createRunDeadline } from '../../../src/run/deadline.ts';

const stopSignals = (stop: AbortSignal, kill: AbortSignal) => ({
  stop,
  kill,
  received: () => 'SIGINT' as const,
  dispose: () => {},
});

const never = new AbortController().signal;

test('a signal received before a run follows signals ends the run', () => {
  const end = createRunDeadline();
  end.followSignals(stopSignals(AbortSignal.abort(), never));

  expect(() => end.rethrow(new Error('git was ended'))).toThrow('Interrupted');
  end.dispose();
});

test('a timer that is early, because the process was suspended, does not end the run', async () => {
  const end = createRunDeadline();
  let asked = 0;
  end.setLimits({ maxDurationMs: 10, untilMs: Infinity }, () => (++asked < 6 ? 5 : 10));
  await once(end.stop, 'abort');
  expect(asked).toBeGreaterThanOrEqual(6);
  end.dispose();
});
