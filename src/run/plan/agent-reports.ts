import type { Harness } from '../../harness/harness.ts';
import { capabilitiesIn, chooseMode, type ChosenMode } from '../../harness/modes.ts';
import type { RunServices } from '../services.ts';
import type { RunSpec } from '../spec.ts';

/** What a limit needs to know of an agent: what it reports in the mode in which it works in a run. */
export type AgentReports = Pick<Harness, 'title' | 'capabilities'>;

export type FindReports = (name: string) => AgentReports;

interface RunCircumstances {
  readonly options: Pick<RunSpec['options'], 'agentMode'>;
  readonly isSandboxed: boolean;
  readonly isWorker: boolean;
}

/** Returns the mode in which an agent works in a run. */
export const modeInRun = (harness: Harness, { options, isSandboxed, isWorker }: RunCircumstances): ChosenMode =>
  chooseMode(harness, { wanted: options.agentMode, isSandboxed, isWorker, platform: process.platform });

/** Finds agents with the capabilities that they have in the mode of a run. */
export const reportsIn =
  (circumstances: RunCircumstances, findHarness: RunServices['findHarness']): ((name: string) => Harness) =>
  (name) => {
    const harness = findHarness(name);
    return { ...harness, capabilities: capabilitiesIn(harness, modeInRun(harness, circumstances).mode) };
  };
