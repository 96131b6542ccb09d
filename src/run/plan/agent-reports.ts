import type { Harness } from '../../harness/harness.ts';
import { capabilitiesIn } from '../../harness/modes.ts';
import { modeInRun, type RunCircumstances } from '../agent-mode.ts';
import type { RunServices } from '../services.ts';

/** What a limit needs to know of an agent: what it reports in the mode in which it works in a run. */
export type AgentReports = Pick<Harness, 'title' | 'capabilities'>;

export type FindReports = (name: string) => AgentReports;

/** Finds agents with the capabilities that they have in the mode of a run. */
export const reportsIn =
  (circumstances: RunCircumstances, findHarness: RunServices['findHarness']): ((name: string) => Harness) =>
  (name) => {
    const harness = findHarness(name);
    return { ...harness, capabilities: capabilitiesIn(harness, modeInRun(harness, circumstances).mode) };
  };
