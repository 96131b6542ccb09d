import { userError } from '../errors.ts';
import { exitCodeOf, type StopSignals } from '../process/signals.ts';

/** Called only before the base is moved: after that, a landing is not interrupted. */
export const throwIfStopped = (stopSignals: StopSignals): void => {
  const signal = stopSignals.received();
  if (signal !== null) throw userError('interrupted', exitCodeOf(signal), 'nothing was moved');
};
