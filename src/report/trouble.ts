import { rejectionOf } from '../ralph/gate-result.ts';
import { type IterationOutcome, iterationOutcome } from '../ralph/outcome.ts';
import type { IterationRecord } from '../ralph/record.ts';
import { oneLine } from './shorten.ts';

export type Result =
  'done' | 'gave up' | 'rejected' | 'interrupted' | 'failed' | 'checks failed' | 'no changes' | 'worked';

const results: Record<IterationOutcome, Result> = {
  complete: 'done',
  blocked: 'gave up',
  rejected: 'rejected',
  interrupted: 'interrupted',
  failed: 'failed',
  'checks-failed': 'checks failed',
  'no-changes': 'no changes',
  progress: 'worked',
};

/** The outcome of an iteration in a word, and why it is not a good one. */
export const outcomeOf = (record: IterationRecord): { readonly result: Result; readonly reason: string | null } => {
  const outcome = iterationOutcome(record);
  return { result: results[outcome], reason: reasonFor(outcome, record) };
};

const reasonFor = (outcome: IterationOutcome, { blocked, rejected, error, gate }: IterationRecord): string | null => {
  if (outcome === 'blocked') return blocked;
  if (outcome === 'rejected') return rejected;
  if (outcome === 'failed') return error?.message ?? '';
  return outcome === 'checks-failed' && gate !== null ? rejectionOf(gate) : null;
};

/** `failed: the agent exited with code 3`; null if there is no reason. */
export const reasonText = (record: IterationRecord, maxLength?: number): string | null => {
  const { result, reason } = outcomeOf(record);
  if (reason === null) return null;
  return `${result === 'rejected' ? 'promise rejected' : result}: ${oneLine(reason, maxLength)}`;
};

/** Why an iteration did not go well, in one line; null if it did, or if the user interrupted it. */
const troubleOf = (record: IterationRecord): string | null => {
  const { denied, commitProblem } = record;
  const { result } = outcomeOf(record);
  if (result === 'done' || result === 'interrupted') return null;
  const text = reasonText(record, maxReason);
  if (text !== null) return text;
  if (denied !== null) return `denied: ${oneLine(denied.tools.join(', '), maxReason)}`;
  return commitProblem === null ? null : `not committed: ${oneLine(commitProblem, maxReason)}`;
};

const maxReason = 300;

export interface Trouble {
  readonly iterations: readonly number[];
  readonly reason: string;
}

/** The troubles of some iterations; those with the same reason are one. The latest is the last one. */
export const troublesOf = (records: readonly IterationRecord[]): Trouble[] => {
  const found = new Map<string, number[]>();
  for (const record of records) {
    const reason = troubleOf(record);
    if (reason === null) continue;
    const iterations = [...(found.get(reason) ?? []), record.iteration];
    found.delete(reason);
    found.set(reason, iterations);
  }
  return [...found].map(([reason, iterations]) => ({ reason, iterations }));
};

const maxNumbers = 4;

/** `#6 #7 promise rejected: "npm test" failed` */
export const troubleText = ({ iterations, reason }: Trouble): string => {
  const first = iterations.slice(0, maxNumbers).map((iteration) => `#${iteration}`);
  const more = iterations.length > maxNumbers ? ` … #${iterations.at(-1)} (${iterations.length} times)` : '';
  return `${first.join(' ')}${more} ${reason}`;
};
