import type { Harness } from '../harness/harness.ts';
import { chooseMode, type ChosenMode, reasonForMode } from '../harness/modes.ts';
import type { RunSpec } from './spec.ts';

export interface RunCircumstances {
  readonly options: Pick<RunSpec['options'], 'agentMode'>;
  readonly isSandboxed: boolean;
  readonly isWorker: boolean;
}

interface ModeInRun extends ChosenMode {
  /** Why it is that mode, whether or not the user wants another. */
  readonly reason: string;
}

/** Returns the mode in which an agent works in a run. */
export const modeInRun = (harness: Harness, { options, isSandboxed, isWorker }: RunCircumstances): ModeInRun => {
  const circumstances = { wanted: options.agentMode, isSandboxed, isWorker, platform: process.platform };
  return { ...chooseMode(harness, circumstances), reason: reasonForMode(harness, circumstances) };
};
