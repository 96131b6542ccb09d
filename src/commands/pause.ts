import type { Invocation } from './shared/command.ts';
import { steerRuns } from './shared/steer.ts';

export const run = (invocation: Invocation): Promise<number> => steerRuns(invocation, 'pause');
