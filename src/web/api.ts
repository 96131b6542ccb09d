/*
 * The HTTP API of `spool web`: what the server answers and the page reads. Types only, so that both sides compile against
 * the same names. All times are ISO 8601 unless a name ends in `Ms`; what is not known is null.
 *
 *   GET  /api/overview                                             Overview
 *   GET  /api/changes/:change                                      ChangeDetail
 *   GET  /api/changes/:change/proof                                ProofDetail
 *   GET  /api/changes/:change/runs/:run                            RunDetail (:run may be `latest`)
 *   GET  …/runs/:run/iterations?from=1&to=500                      IterationPage
 *   GET  …/runs/:run/iterations/:n                                 IterationDetail
 *   GET  …/runs/:run/iterations/:n/conversation?after=&before=     ConversationPage
 *   GET  …/runs/:run/iterations/:n/prompt?offset=0&length=65536    TextPage (offset=end: the last window)
 *   GET  …/runs/:run/iterations/:n/log?offset=0&length=65536       TextPage
 *   GET  …/runs/:run/diff?from=0&to=7                              DiffSummary (or ?iteration=7: against the state before it)
 *   GET  …/runs/:run/diff/file?from=0&to=7&path=src/a.ts           FileDiffDetail (or ?iteration=7&path=…)
 *   GET  /api/stream/overview                                      Server-Sent Events: OverviewMessage
 *   GET  /api/stream/changes/:change/runs/:run                     Server-Sent Events: RunMessage
 *   POST /api/preview                                              PreviewRequest → ActionPreview
 *   POST /api/actions                                              ActionRequest → ActionResult
 *
 * The page itself is served at `/` and at every path below `/changes/`. A stream sends one JSON message per event, without an
 * event name; `EventSource` resumes by itself, and gets a snapshot where that is not possible. `?after=<id>` does what the
 * header Last-Event-ID does, which a page cannot set.
 *
 * Every POST needs `Content-Type: application/json` and the header `X-Spool: 1`. An answer that is not 2xx is an `ApiError`.
 */
import type { AgentError, Usage } from '../ralph/agent-events.ts';
import type { RunEvent } from '../ralph/events.ts';
import type { Ledger, ProofCount } from '../ralph/proof.ts';
import type { IterationOutcome } from '../ralph/outcome.ts';
import type { GateReport, IterationRecord, TaskCount, AgentSwitch } from '../ralph/record.ts';
import type { RemoteState, RunRow } from '../ralph/run-row.ts';
import type { RunView } from '../ralph/view.ts';

export type { AgentEvent, Usage } from '../ralph/agent-events.ts';
export type { RunEvent } from '../ralph/events.ts';
export type { ProofCount, ScenarioProof } from '../ralph/proof.ts';
export type {
  FileChange,
  GateReport,
  GateRun,
  IterationRecord,
  ReviewReport,
  TaskCount,
  AgentSwitch,
} from '../ralph/record.ts';
export type { RunView } from '../ralph/view.ts';

/** Every POST must have it: a form or a link of another site cannot send it. */
export type GuardHeader = 'x-spool';

export interface ApiError {
  readonly error: {
    /** A code of docs/errors.md, or of the server: `unauthorized`, `forbidden`, `not-found`, `too-large`, `read-only`. */
    readonly code: string;
    /** One sentence for the user. */
    readonly message: string;
  };
}

// ---- Overview

export type RowStatus = RunRow['status'] | 'none';

/** A change with its last run. */
export interface Row extends Omit<RunRow, 'status' | 'remote'> {
  /** `none`: the change was never run. */
  readonly status: RowStatus;
  /** Where the change is from, such as `openspec`; null if it is archived, deleted or only in the queue. */
  readonly source: string | null;
  readonly module: string | null;
  /** Whether its branch has landed; null without a branch. */
  readonly landed: boolean | null;
  readonly branch: string | null;
  /** Why a person should look at it; null if there is no reason. */
  readonly attention: Attention | null;
  /** Completed tasks after each of the last iterations, oldest first; at most 60. Empty without tasks. */
  readonly spark: readonly number[];
  /** Where workers have it; null for a run on this machine. */
  readonly remote: RemoteState | null;
  /** Why its files cannot be used; null if they can. */
  readonly problem: string | null;
}

export interface Attention {
  readonly kind: 'blocked' | 'failed' | 'rejected' | 'limit' | 'interrupted' | 'unreadable' | 'problem' | 'silent';
  /** One sentence. */
  readonly text: string;
}

export interface Overview {
  readonly project: {
    /** The name of its folder. */
    readonly name: string;
    readonly root: string;
    readonly branch: string | null;
  };
  readonly version: string;
  /** No action is possible. */
  readonly readOnly: boolean;
  /** Whether a queue is configured. */
  readonly queue: boolean;
  /** Lines for the user: silent workers, a queue that cannot be reached, sources of changes that cannot be read. */
  readonly warnings: readonly string[];
  /** Running ones first, then queued ones, then the latest; changes without a run come last. */
  readonly rows: readonly Row[];
  /** The clock of the server. */
  readonly now: string;
}

export type OverviewMessage =
  /** Sent first, and whenever the client could not resume. */
  | { readonly type: 'overview'; readonly overview: Overview }
  /** What has changed since the last message. `order` lists all changes, in the order of the rows. */
  | {
      readonly type: 'rows';
      readonly rows: readonly Row[];
      readonly order: readonly string[];
      readonly warnings: readonly string[];
      readonly now: string;
    };

// ---- Changes and runs

export interface RunSummary {
  readonly run: string;
  readonly startedAt: string | null;
  readonly status: RunView['status'] | null;
  readonly iterations: number;
  readonly usage: Usage | null;
}

export interface TaskItem {
  readonly title: string;
  readonly done: boolean;
  readonly optional: boolean;
}

export interface ChangeDetail {
  readonly row: Row;
  /** What the change asks for, as its documents have it. */
  readonly documents: readonly { readonly name: string; readonly text: string; readonly isCut: boolean }[];
  readonly tasks: readonly TaskItem[] | null;
  /** Latest first. */
  readonly runs: readonly RunSummary[];
  /** What `--add-context` has added and every iteration reads; null if nothing. */
  readonly context: string | null;
}

/** Which scenarios of a change are proven, as its specs are now. */
export interface ProofDetail extends Pick<Ledger, 'scenarios' | 'unknown'> {
  readonly count: ProofCount;
  /** The gate that checked them last; null if none did. */
  readonly gate: Pick<Ledger, 'run' | 'iteration' | 'at' | 'worker'> | null;
}

export interface RunDetail extends ChangeDetail {
  readonly run: string;
  /** Whether it is the last run of the change, to which row, tasks and actions belong. */
  readonly isLatest: boolean;
  /**
   * Its plan, limits, totals and status. Old runs have it only as far as their files are left. The running time counts
   * until `now`.
   */
  readonly view: RunView | null;
  readonly status: RowStatus;
  /** The last thing it did, in words. */
  readonly activity: { readonly text: string; readonly at: string } | null;
  /** The last iteration of which there is anything. */
  readonly lastIteration: number;
  /** Names of its checkpoints: `0` is the state before the first iteration, `r1` the one before the first rewind. */
  readonly checkpoints: readonly string[];
  /** Process ids that are left of it. */
  readonly leftovers: readonly number[];
  readonly now: string;
}

// ---- Iterations

/** One iteration in short: some 300 bytes. */
export interface IterationSummary {
  readonly iteration: number;
  readonly outcome: IterationOutcome;
  readonly startedAt: string;
  /** From its start to its record; in records of older versions, until the agent ended. */
  readonly durationMs: number;
  /** The parts of `durationMs`; null in records of older versions. */
  readonly agentMs: number | null;
  readonly gateMs: number | null;
  readonly spoolMs: number | null;
  readonly harness: string;
  readonly model: string | null;
  readonly filesChanged: number | null;
  readonly insertions: number | null;
  readonly deletions: number | null;
  readonly tasks: TaskCount | null;
  /** Titles of the tasks that were completed. */
  readonly ticked: readonly string[];
  /** With deferred attempts and the review. */
  readonly usage: Usage | null;
  /** How often tools were called; null if the agent does not report it. */
  readonly toolCalls: number | null;
  /** Why a promise was rejected. */
  readonly rejected: string | null;
  readonly error: Pick<AgentError, 'kind' | 'message'> | null;
  readonly blocked: string | null;
  readonly denied: string | null;
  readonly gate: { readonly passed: boolean; readonly commands: number } | null;
  readonly commit: string | null;
  readonly checkpoint: string | null;
  /** How many attempts were deferred. */
  readonly deferred: number;
  /** The step on the ladder of agents before it; null if there was none. */
  readonly switched: AgentSwitch | null;
  /** The notes that it left for the next iterations. */
  readonly handover: string | null;
}

export interface IterationPage {
  readonly iterations: readonly IterationSummary[];
  /** The highest number there is now. */
  readonly last: number;
}

export interface IterationDetail {
  readonly summary: IterationSummary;
  readonly record: IterationRecord;
  readonly gate: GateReport | null;
  /** Sizes in bytes; null if there is no such file. */
  readonly promptSize: number | null;
  readonly logSize: number | null;
  /** Whether the two checkpoints of its diff exist. */
  readonly hasDiff: boolean;
}

/** A line of the journal: an event with its number, which grows within a run. */
export interface JournalEntry {
  readonly seq: number;
  readonly at: string;
  readonly event: RunEvent;
}

/** A window of the conversation, in order. Without `after` or `before` it is the first one. `before=end` is the last one. */
export interface ConversationPage {
  readonly entries: readonly JournalEntry[];
  /** For `?before=`: what comes before this window; null at the beginning. */
  readonly previous: string | null;
  /** For `?after=`: what comes after this window. null at the end of an iteration that is over. */
  readonly next: string | null;
  /** How far this window is into the iteration, in bytes of the journal. */
  readonly position: { readonly start: number; readonly end: number; readonly size: number };
}

/** A window of a text file. */
export interface TextPage {
  readonly text: string;
  /** Bytes in the file; a log grows while its agent works. */
  readonly offset: number;
  readonly nextOffset: number;
  readonly size: number;
}

// ---- Diffs

export interface DiffFile {
  readonly status: 'added' | 'modified' | 'deleted' | 'renamed';
  readonly path: string;
  readonly from: string | null;
  readonly insertions: number;
  readonly deletions: number;
  readonly binary: boolean;
}

export interface DiffSummary {
  /** Names of checkpoints. */
  readonly from: string;
  readonly to: string;
  readonly filesChanged: number;
  readonly insertions: number;
  readonly deletions: number;
  /** At most 2,000. */
  readonly files: readonly DiffFile[];
  readonly filesLeftOut: number;
}

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
  /** The file has no newline at its end. */
  readonly noNewline?: true;
}

export interface DiffHunk {
  readonly oldStart: number;
  readonly newStart: number;
  /** What git found above it, such as the name of a function. */
  readonly heading: string;
  readonly lines: readonly DiffLine[];
}

export interface FileDiffDetail {
  readonly file: DiffFile;
  readonly hunks: readonly DiffHunk[];
  /** The diff was too long, and its end is missing. */
  readonly isCut: boolean;
}

// ---- The stream of a run

export type RunMessage =
  /** Sent first, and whenever the client could not resume: read everything again. */
  | {
      readonly type: 'snapshot';
      readonly detail: RunDetail;
      /** The number of the last entry of the journal so far; later ones are sent. */
      readonly seq: number;
    }
  /** New entries of the journal, in order. */
  | { readonly type: 'entries'; readonly entries: readonly JournalEntry[] }
  /** Sent after entries that changed it: at most four times a second. The running time counts until `now`. */
  | { readonly type: 'view'; readonly view: RunView; readonly status: RowStatus; readonly now: string }
  /** An iteration is in the history. */
  | { readonly type: 'iteration'; readonly iteration: IterationSummary }
  | { readonly type: 'tasks'; readonly tasks: readonly TaskItem[] | null }
  /** The run is over. The stream stays open: it may be resumed, or followed by another one. */
  | { readonly type: 'ended'; readonly view: RunView; readonly status: RowStatus }
  /** A newer run of the change has started. */
  | { readonly type: 'superseded'; readonly run: string };

// ---- Actions

export type Action =
  | { readonly kind: 'add-context'; readonly change: string; readonly text: string }
  | { readonly kind: 'clear-context'; readonly change: string }
  | { readonly kind: 'stop-after-iteration'; readonly change: string }
  | { readonly kind: 'stop-now'; readonly change: string }
  | { readonly kind: 'pause'; readonly change: string }
  | { readonly kind: 'resume'; readonly change: string }
  | ({ readonly kind: 'start'; readonly change: string } & StartOptions)
  | { readonly kind: 'rewind'; readonly change: string; readonly run?: string; readonly to: string }
  | { readonly kind: 'land'; readonly change: string; readonly keepBranch?: boolean };

/** Settings that differ from config.json. */
export interface StartOptions {
  readonly prompt?: string;
  readonly harness?: string;
  readonly model?: string;
  readonly maxIterations?: number;
  readonly maxCostUsd?: number;
  /** Such as `8h`. */
  readonly maxDuration?: string;
  /** Does not continue an interrupted run. */
  readonly fresh?: boolean;
}

/** Kinds that need a preview: the token of a preview is valid once, for the same action. */
export type DangerousKind = 'clear-context' | 'stop-now' | 'start' | 'rewind' | 'land';

export interface PreviewRequest {
  readonly action: Action;
}

export interface ActionPreview {
  /** What will happen, in sentences. */
  readonly lines: readonly string[];
  /** What the command prints in a dry run; empty if it has none. */
  readonly output: string;
  /** The command that will run. */
  readonly command: string;
  /** null if it cannot be done: `output` says why. */
  readonly token: string | null;
  readonly expiresAt: string | null;
}

export interface ActionRequest {
  readonly action: Action;
  /** Of a preview, for a `DangerousKind`. */
  readonly token?: string;
}

/** The command ran; whether it succeeded is `ok`. */
export interface ActionResult {
  readonly ok: boolean;
  readonly exitCode: number | null;
  /** What the command printed, without secrets and control characters. */
  readonly output: string;
  readonly command: string;
}
