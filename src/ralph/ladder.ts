import { type AgentChoice, agentKey, type RunPlan } from './plan.ts';
import { type AgentSwitch, failed, type IterationRecord } from './record.ts';
import { wasUnread } from './unread-context.ts';

/** The rung that has its turn, from 1, and the switch that led to it. */
export interface LadderStep {
  readonly rung: number;
  readonly switched: AgentSwitch | null;
}

/** The last records of a run. */
export interface LastRecords {
  readonly last: IterationRecord | null;
  /** The one before. */
  readonly earlier: IterationRecord | null;
}

/**
 * Decides which rung of the ladder has its turn: the next one after two setbacks in a row on the same rung, the first one
 * after progress. The last rung stays. Returns null without a ladder.
 */
export const nextLadderStep = (
  { ladder, agents }: Pick<RunPlan, 'ladder' | 'agents'>,
  { last, earlier }: LastRecords,
): LadderStep | null => {
  if (!ladder) return null;
  if (last === null) return { rung: 1, switched: null };
  const before = rungOf(last, agents);
  const { rung, why } = stepFrom(before, { last, earlier });
  if (rung === before || rung > agents.length) return { rung: before, switched: null };
  const [from, to] = [before, rung].map((each) => agentKey(agents[each - 1]!)) as [string, string];
  return { rung, switched: { iteration: last.iteration + 1, from, to, rung, why } };
};

/** A run may be resumed with another ladder, or was begun without one. */
const rungOf = ({ rung, harness, model }: IterationRecord, agents: readonly AgentChoice[]): number => {
  const position = agents.findIndex((agent) => agentKey(agent) === agentKey({ harness, model })) + 1;
  return Math.min(rung ?? Math.max(1, position), agents.length);
};

const stepFrom = (
  rung: number,
  { last, earlier }: { readonly last: IterationRecord; readonly earlier: IterationRecord | null },
): { readonly rung: number; readonly why: string } => {
  const outcome = outcomeOf(last);
  if (outcome?.kind === 'progress') return { rung: 1, why: `iteration ${last.iteration} ${outcome.one}` };
  const outcomeBefore = earlier !== null && earlier.rung === last.rung ? outcomeOf(earlier) : null;
  if (outcome === null || outcomeBefore?.kind !== 'setback') return { rung, why: '' };
  const why =
    outcome.one === outcomeBefore.one
      ? `2 iterations in a row ${outcome.several}`
      : `iteration ${earlier!.iteration} ${outcomeBefore.one} and iteration ${last.iteration} ${outcome.one}`;
  return { rung: rung + 1, why };
};

interface Outcome {
  readonly kind: 'progress' | 'setback';
  /** What the iteration did, and what several did. */
  readonly one: string;
  readonly several: string;
}

/**
 * What an iteration says about its agent; null if it says nothing. A setback counts more than the tasks that the agent
 * ticked, as those are only its own words.
 */
const outcomeOf = (record: IterationRecord): Outcome | null => {
  const { end, error, rejected, gate, completionFound, ticked = [] } = record;
  // It was stopped by Spool.
  if (end === 'interrupted' || error?.kind === 'budget') return null;
  if (failed(record)) return setback('failed');
  if (completionFound) return progress('kept its promise');
  if (wasUnread(record)) return null;
  if (rejected !== null || gate?.passed === false) return setback('was rejected', 'were rejected');
  if (ticked.length > 0) return progress(ticked.length === 1 ? 'completed a task' : `completed ${ticked.length} tasks`);
  if (changedNothing(record)) return setback('changed nothing');
  return gate?.passed && gate.runs.length > 0 ? progress('passed the checks') : null;
};

const setback = (one: string, several = one): Outcome => ({ kind: 'setback', one, several });
const progress = (one: string): Outcome => ({ kind: 'progress', one, several: one });

/** Unknown without git. */
const changedNothing = (record: IterationRecord): boolean =>
  [record, ...record.deferred].every(({ git }) => git?.filesChanged === 0);
