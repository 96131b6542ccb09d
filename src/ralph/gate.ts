import type { GatePlan, GateReport, GateRun } from './events.ts';
import type { Verdict } from './iteration.ts';
import { grouped } from './usage.ts';

/** A promise that the gate does not let through is refused, with the reason. */
export const applyGate = (verdict: Verdict, gate: GateReport | null): Verdict =>
  gate === null || gate.passed || !verdict.completionFound
    ? verdict
    : { ...verdict, completionFound: false, evidence: null, rejected: refusalOf(gate) };

/** After such an iteration there are commands to run, if the cheap questions are answered well. */
export const runsCommands = (
  { verify, verifyEach }: GatePlan,
  { completionFound, error }: Pick<Verdict, 'completionFound' | 'error'>,
): boolean => verify.length > 0 && (completionFound || (verifyEach && error?.kind !== 'rate-limit'));

export const passes = ({ tampering, openTasks, conflicts = [], runs }: Omit<GateReport, 'passed'>): boolean =>
  tampering.length === 0 && openTasks.length === 0 && conflicts.length === 0 && runs.every(isGreen);

export const isGreen = ({ outcome }: GateRun): boolean => outcome === 'passed' || outcome === 'flaky';

/** How many of several are named. */
const named = 3;

/** Why the promise does not count, in one line. */
export const refusalOf = (gate: GateReport): string => {
  const { tampering, openTasks, conflicts = [], runs } = gate;
  const { tamperingCount = tampering.length, openTaskCount = openTasks.length } = gate;
  return [
    ...tampering.slice(0, named),
    ...(tamperingCount > named ? [`and ${grouped(tamperingCount - named)} more`] : []),
    ...conflicts.slice(0, named),
    ...(openTaskCount === 0
      ? []
      : [
          `${grouped(openTaskCount)} of the tasks ${openTaskCount === 1 ? 'is' : 'are'} open: ${some(openTasks, openTaskCount)}`,
        ]),
    ...runs.filter((run) => !isGreen(run)).map(describeRun),
  ].join('; ');
};

const describeRun = ({ command, outcome, exitCode }: GateRun): string => {
  switch (outcome) {
    case 'passed':
      return `"${command}" passed`;
    case 'flaky':
      return `"${command}" failed, and passed when it was run once more`;
    case 'failed':
      return `"${command}" failed twice${exitCode === null ? '' : `, with exit code ${exitCode}`}`;
    case 'timed-out':
      return `"${command}" took too long, twice`;
    case 'interrupted':
      return `"${command}" was interrupted`;
  }
};

const some = (titles: readonly string[], all: number) =>
  `${titles
    .slice(0, named)
    .map((title) => `"${title}"`)
    .join(', ')}${all > named ? ` and ${grouped(all - named)} more` : ''}`;
