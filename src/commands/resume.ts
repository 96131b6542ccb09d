import { userError } from '../errors.ts';
import { isInsideIteration } from '../process/tree.ts';
import type { Invocation } from './registry/command.ts';
import { steerRuns } from './runs/steer.ts';

/** An agent may stop or pause a run, but not resume one that a person has paused. */
export const run = async (invocation: Invocation): Promise<number> => {
  if (isInsideIteration()) throw userError('in-iteration', 'resume');
  return steerRuns(invocation, 'resume');
};
