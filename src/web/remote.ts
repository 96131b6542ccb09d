import type { Checkpoint } from '../git/checkpoint.ts';
import type { Ledger } from '../ralph/proof.ts';
import type { IterationRecord } from '../ralph/record.ts';
import type { RunView } from '../ralph/view.ts';
import type { RunRow } from '../ralph/run-row.ts';
import type { FollowedEvent } from '../store/follow.ts';
import type { JournalEntry } from './api.ts';
import type { FollowRequest } from './read/run-source.ts';

/** The runs on other machines, as far as the page needs them. Only with a queue. */
export interface RemoteRuns {
  /** Those that workers know more about than this checkout, with lines about silent workers. */
  rows(): Promise<{ readonly rows: readonly RunRow[]; readonly warnings: readonly string[] }>;
  /** The run that workers have of a change; null if this checkout knows more. */
  find(change: string): Promise<RemoteRun | null>;
  close(): Promise<void>;
}

/** What follows a cursor, which may be 0; or what is before one, null for the end. */
type EntryWindow = { readonly after: number } | { readonly before: number | null };

export interface RemoteRun {
  readonly row: RunRow;
  readonly view: RunView | null;
  /** Oldest first. */
  records(): Promise<readonly IterationRecord[]>;
  /** A window of what happened in an iteration. `first` is the cursor of what is before it, `last` of what is after it. */
  entries(
    iteration: number,
    window: EntryWindow,
  ): Promise<{
    readonly entries: readonly JournalEntry[];
    readonly first: number | null;
    readonly last: number | null;
  }>;
  /** A file of a finished iteration; null if it was not pushed. */
  file(iteration: number, what: 'log' | 'prompt'): Promise<Buffer | null>;
  /** Those that its worker has pushed, and a bare repository with their commits. Returns why there are none as `why`. */
  checkpoints(): Promise<
    { readonly mirror: string; readonly checkpoints: readonly Checkpoint[] } | { readonly why: string }
  >;
  /** Its ledger, as far as it is believed; null if its worker has pushed none. */
  ledger(): Promise<Ledger | null>;
  follow(request: FollowRequest): AsyncIterable<FollowedEvent>;
}
