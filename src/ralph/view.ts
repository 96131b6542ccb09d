import type {
  AgentChoice,
  GatePlan,
  IterationRecord,
  Limits,
  Workspace,
  SettingsAtStart,
  Stop,
  StopReason,
  TaskCount,
  Uncommitted,
  Usage,
} from './events.ts';
import type { RunEvent } from './events.ts';
import type { RunTotals } from './totals.ts';

/** The run as it stands: what state.json holds and every reader shows. */
export interface RunView extends RunTotals {
  readonly v: 2;
  readonly run: string;
  readonly change: string;
  readonly module: string | null;
  readonly status: 'running' | StopReason;
  /** What ended it; null while it runs. */
  readonly cause: Stop['cause'] | null;
  /** The same in words. */
  readonly detail: string | null;
  /** The iteration that runs, or the last one that ran. */
  readonly iteration: number;
  /** The agent that works, or worked last. */
  readonly harness: string;
  readonly model: string | null;
  readonly agents: readonly AgentChoice[];
  readonly allowAll: boolean;
  /** The agent and what runs its work are in a sandbox. */
  readonly sandbox: boolean;
  readonly completionPromise: string;
  readonly minIterations: number;
  /** null means unlimited. */
  readonly maxIterations: number | null;
  readonly blockedPromise: string;
  readonly limits: { readonly [Name in keyof Limits]: number | null };
  readonly gate: GatePlan;
  /** null before it is known. */
  readonly workspace: Workspace | null;
  readonly failFast: boolean;
  /** What iterations change is committed. */
  readonly commit: boolean;
  /** How many tasks were done when it ended; null while it runs, and when there are none. */
  readonly tasks: TaskCount | null;
  /** What was in no commit when it ended; older runs did not write it down. */
  readonly uncommitted?: readonly Uncommitted[];
  /** How long the run was at work when this was written, also before it was interrupted. */
  readonly elapsedMs: number;
  /** What the iteration that runs has used so far. */
  readonly currentUsage: Usage | null;
  /** Until when the run waits, in milliseconds since 1970, and for what; null when it does not. */
  readonly waiting: { readonly untilMs: number; readonly why: string } | null;
  /** When agents that were held up are free, in milliseconds since 1970, by their keys. */
  readonly cooldowns: Readonly<Record<string, number>>;
  /** An iteration whose agent has ended and whose gate has not: it is recorded when its gate was run. */
  readonly pending: IterationRecord | null;
  /** Where its settings came from; null in the state of an older Spool. */
  readonly settings: SettingsAtStart | null;
  readonly pid: number;
  readonly startedAt: string;
  readonly updatedAt: string;
  readonly endedAt: string | null;
}

/** A run that claims to go on although its process is gone was cut off. */
export const currentStatus = (view: RunView, alive: boolean): RunView['status'] =>
  view.status === 'running' && !alive ? 'interrupted' : view.status;

/** The run as it is written into the project and told to others: without secrets. What says which run it is stays. */
export const publicView = (view: RunView, clean: (view: RunView) => RunView): RunView => {
  const { run, change, module, status, cause, workspace, startedAt, updatedAt, endedAt } = view;
  return { ...clean(view), run, change, module, status, cause, workspace, startedAt, updatedAt, endedAt };
};

/** A reader of a run: called with every event, and with the view that it led to. */
export type OnRunEvent = (event: RunEvent, view: RunView) => void;
