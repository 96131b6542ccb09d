import type { Usage } from './agent-events.ts';
import type { ProofCount } from './proof.ts';
import type { TaskCount } from './record.ts';
import type { RunPhase, RunView } from './view.ts';

/** The last run of a change, or its place in a queue: a row of `spool status` and of the page. Missing values are null. */
export interface RunRow {
  readonly change: string;
  /** null for a change that is queued, or whose state cannot be read. */
  readonly run: string | null;
  /** `unreadable` if state.json has a newer version. */
  readonly status: RunView['status'] | 'queued' | 'unreadable';
  /** What a run that is running does instead of working; null if it works or has ended. */
  readonly phase: RunPhase | null;
  readonly iteration: number;
  readonly finishedIterations: number;
  /** null: unlimited. */
  readonly maxIterations: number | null;
  readonly tasks: TaskCount | null;
  /** How many scenarios its last gate has proven; null if no gate has looked for any. */
  readonly proof: ProofCount | null;
  /** When the run was started, or the change was queued; empty if its state cannot be read. */
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly elapsedMs: number;
  readonly usage: Usage | null;
  /** What it does now (the current tool), or why it ended. */
  readonly activity: string | null;
  /** How many processes are left of a run that was killed. */
  readonly leftovers: number;
  readonly archived: boolean;
  /** Its change is neither active nor archived any more. */
  readonly deleted: boolean;
  /** Where workers have it; missing for a run on this machine. */
  readonly remote?: RemoteState;
}

/** Where and in which state workers have a change. */
export interface RemoteState {
  readonly state: string;
  readonly silent: boolean;
  readonly detail: string | null;
  readonly worker: string | null;
  readonly host: string | null;
  readonly since: string | null;
  readonly seen: string | null;
  readonly availableAt: string;
  readonly blockedBy: string | null;
  readonly queuedAt: string;
  readonly queuedBy: string;
  readonly attempts: number;
  readonly costUsd: number | null;
}

/** What a row has without a run. */
export const withoutRun = {
  run: null,
  phase: null,
  iteration: 0,
  finishedIterations: 0,
  maxIterations: null,
  tasks: null,
  proof: null,
  startedAt: '',
  endedAt: null,
  elapsedMs: 0,
  usage: null,
  activity: null,
  leftovers: 0,
  archived: false,
  deleted: false,
} as const satisfies Partial<RunRow>;
