import { failed, type IterationRecord } from './record.ts';

export type IterationOutcome =
  /** Its promise was accepted. */
  | 'complete'
  /** It gave up. */
  | 'blocked'
  /** It promised, and the promise was rejected. */
  | 'rejected'
  | 'interrupted'
  | 'failed'
  | 'checks-failed'
  | 'no-changes'
  | 'progress';

/** What became of an iteration, in a word that every table and page shows. */
export const iterationOutcome = (record: IterationRecord): IterationOutcome => {
  const { blocked, rejected, gate, git, ticked = [] } = record;
  if (record.completionFound) return 'complete';
  if (blocked !== null) return 'blocked';
  if (rejected !== null) return 'rejected';
  if (record.end === 'interrupted') return 'interrupted';
  if (failed(record)) return 'failed';
  if (gate?.passed === false) return 'checks-failed';
  // Without git it is not known.
  return git?.filesChanged === 0 && ticked.length === 0 ? 'no-changes' : 'progress';
};
