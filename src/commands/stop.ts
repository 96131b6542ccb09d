import type { Invocation } from './shared/command.ts';
import { steerRuns } from './shared/steer.ts';

export const run = (invocation: Invocation): Promise<number> =>
  steerRuns(invocation, invocation.rawFlags.now === true ? 'stop' : 'stop-after-iteration');
