import type { RunRow } from '../../ralph/run-row.ts';
import type { Attention, IterationSummary, RowStatus } from '../api.ts';

interface Facts {
  readonly status: RowStatus;
  readonly activity: string | null;
  readonly remote: { readonly silent: boolean } | null;
  readonly problem: string | null;
  readonly last: IterationSummary | null;
}

/** Statuses in which a run does nothing until a person decides. */
const ended: ReadonlySet<RowStatus> = new Set(['blocked', 'failed', 'limit', 'interrupted', 'unreadable']);

/** Why a person should look at a change; null if there is no reason. */
export const attentionOf = (facts: Facts & Pick<RunRow, 'archived' | 'deleted'>): Attention | null => {
  const { status, activity, remote, problem, last } = facts;
  if (facts.archived || facts.deleted) return null;
  if (problem !== null) return { kind: 'problem', text: problem };
  if (remote?.silent) return { kind: 'silent', text: activity ?? 'There is no sign of its worker.' };
  if (ended.has(status)) return { kind: status as Attention['kind'], text: activity ?? `The run is ${status}.` };
  if (status === 'running' && last?.outcome === 'rejected')
    return { kind: 'rejected', text: `Promise rejected in iteration ${last.iteration}: ${last.rejected}` };
  return null;
};
