import { expect, test } from 'vitest';
import { createRunEnd } from '../../../src/run/hurry.ts';

const stops = (stop: AbortSignal, kill: AbortSignal) => ({
  stop,
  kill,
  received: () => 'SIGINT' as const,
  dispose: () => {},
});

const never = new AbortController().signal;

test('a signal that came before a run listens to it ends the run', () => {
  const end = createRunEnd();
  end.endWith(stops(AbortSignal.abort(), never));

  expect(() => end.rethrow(new Error('git was ended'))).toThrow('Interrupted');
  end.dispose();
});
