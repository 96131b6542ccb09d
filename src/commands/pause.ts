import type { Invocation } from './shared/command.ts';
import { steerRuns } from './steer.ts';

export const run = (call: Invocation): Promise<number> => steerRuns(call, 'pause');
