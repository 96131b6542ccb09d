import type { Invocation } from './registry/command.ts';
import { steerRuns } from './runs/steer.ts';

export const run = (invocation: Invocation): Promise<number> =>
  steerRuns(invocation, invocation.rawFlags.now === true ? 'stop' : 'stop-after-iteration');
