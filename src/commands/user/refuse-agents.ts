import { userError } from '../../errors.ts';
import { isInsideIteration } from '../../process/tree.ts';

/** Throws if an agent calls the command: only the user may. */
export const refuseAgents = (command: string): void => {
  if (isInsideIteration()) throw userError('in-iteration', command);
};
