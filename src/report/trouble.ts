import { refusalOf } from '../ralph/gate-result.ts';
import { failed, type IterationRecord } from '../ralph/record.ts';
import { oneLine } from './shorten.ts';

/** The outcome of an iteration in a word. */
export const resultOf = (record: IterationRecord): Result => {
  if (record.completionFound) return 'done';
  if (record.blocked !== null) return 'gave up';
  if (record.rejected !== null) return 'rejected';
  if (record.end === 'interrupted') return 'interrupted';
  if (failed(record)) return 'failed';
  if (record.gate?.passed === false) return 'checks failed';
  return record.git?.filesChanged === 0 ? 'no changes' : 'worked';
};

export type Result =
  'done' | 'gave up' | 'rejected' | 'interrupted' | 'failed' | 'checks failed' | 'no changes' | 'worked';

/** Why an iteration did not go well, in one line; null if it did, or if the user interrupted it. */
const troubleOf = (record: IterationRecord): string | null => {
  if (record.completionFound) return null;
  if (record.blocked !== null) return `gave up: ${oneLine(record.blocked, maxReason)}`;
  if (record.rejected !== null) return `promise not accepted: ${oneLine(record.rejected, maxReason)}`;
  if (record.end === 'interrupted') return null;
  if (failed(record)) return `failed: ${oneLine(record.error?.message ?? '', maxReason)}`;
  if (record.gate?.passed === false) return `checks failed: ${oneLine(refusalOf(record.gate), maxReason)}`;
  if (record.denied !== null) return `denied: ${oneLine(record.denied.tools.join(', '), maxReason)}`;
  return record.commitProblem === null ? null : `not committed: ${oneLine(record.commitProblem, maxReason)}`;
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

/** `#6 #7 promise not accepted: "npm test" failed` */
export const troubleText = ({ iterations, reason }: Trouble): string => {
  const first = iterations.slice(0, maxNumbers).map((iteration) => `#${iteration}`);
  const more = iterations.length > maxNumbers ? ` … #${iterations.at(-1)} (${iterations.length} times)` : '';
  return `${first.join(' ')}${more} ${reason}`;
};
