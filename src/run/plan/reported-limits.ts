import { userError } from '../../errors.ts';
import type { Emit } from '../../ralph/events.ts';
import type { IterationRecord } from '../../ralph/record.ts';
import type { RunPlan } from '../../ralph/plan.ts';
import type { Usage } from '../../ralph/agent-events.ts';
import type { AgentReports, FindReports } from './agent-reports.ts';

interface Measured {
  readonly limit: 'maxCostUsd' | 'maxTokens';
  readonly flag: string;
  /** What an agent has to report. Used in messages as well. */
  readonly report: 'cost' | 'tokens';
  readonly isKnown: (usage: Usage) => boolean;
}

/** The limits that depend on numbers that the agent reports. */
const measured: readonly Measured[] = [
  { limit: 'maxCostUsd', flag: '--max-cost', report: 'cost', isKnown: hasPrice },
  {
    limit: 'maxTokens',
    flag: '--max-tokens',
    report: 'tokens',
    isKnown: ({ inputTokens, outputTokens }) => inputTokens !== null || outputTokens !== null,
  },
];

/** Agents report a cost of 0 for a model whose price they do not know. */
function hasPrice({ costUsd, inputTokens, outputTokens }: Usage): boolean {
  return costUsd !== null && (costUsd > 0 || (inputTokens ?? 0) + (outputTokens ?? 0) === 0);
}

type Limited = Pick<RunPlan, 'agents' | 'limits'>;

/**
 * Returns a notice for each limit that cannot be enforced for some of the agents. Throws if it cannot be enforced for
 * any.
 */
export const checkLimits = ({ agents, limits }: Limited, find: FindReports): string[] => {
  const reporting = [...new Set(agents.map(({ harness }) => harness))].map(find);
  return measured
    .filter(({ limit }) => limits[limit] < Infinity)
    .flatMap(({ flag, report }) => {
      const silent = reporting.filter(({ capabilities }) => !capabilities.includes(report));
      const titles = silent.map(({ title }) => title).join(' and ');
      const lacks = `${silent.length === 1 ? 'reports' : 'report'} no ${report}`;
      if (silent.length === 0) return [];
      if (silent.length < reporting.length)
        return [`${flag} is not enforced for ${titles}: ${silent.length === 1 ? 'it' : 'they'} ${lacks}.`];
      throw userError('unchecked-limit', flag, `${titles} ${lacks}`, alternativesTo(report, reporting));
    });
};

const alternativesTo = (report: Measured['report'], reporting: readonly AgentReports[]): string =>
  report === 'cost' && reporting.every(({ capabilities }) => capabilities.includes('tokens'))
    ? '--max-tokens or --max-duration'
    : '--max-duration or --max-iterations';

/** Adds a notice, once, if an agent has not reported what a limit needs. */
export const watchLimits = ({ limits }: Limited, find: FindReports, emit: Emit): Emit => {
  const announced = new Set<string>();
  return (event) => {
    emit(event);
    if (event.type !== 'iteration-finished' || event.record.error !== null) return;
    const { iteration, harness: name } = event.record;
    const { title, capabilities } = find(name);
    for (const { limit, flag, report, isKnown } of measured) {
      const applies = limits[limit] < Infinity && capabilities.includes(report);
      if (!applies || wasReported(event.record, isKnown) || announced.has(`${name} ${flag}`)) continue;
      announced.add(`${name} ${flag}`);
      emit({
        type: 'notice',
        text: `${title} reported no ${report} for iteration ${iteration}, so ${flag} cannot be checked.`,
      });
    }
  };
};

const wasReported = ({ usage }: IterationRecord, isKnown: Measured['isKnown']): boolean =>
  usage !== null && isKnown(usage);
