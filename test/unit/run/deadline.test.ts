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
