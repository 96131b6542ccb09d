import type { AgentChoice, GatePlan, Limits, Workspace, SettingsAtStart } from './plan.ts';
import type { AgentSwitch, IterationRecord, TaskCount } from './record.ts';
import type { DiffStat, Stop, StopReason, Uncommitted, RunEvent } from './events.ts';
import type { Usage } from './agent-events.ts';
import { asksToStop, type Requested } from './control.ts';
import type { RunTotals } from './totals.ts';

/** The current state of a run, as saved in state.json and shown by reporters. */
export interface RunView extends RunTotals {
  readonly v: 2;
  readonly run: string;
  readonly change: string;
  /** The name of the source of the change, such as `openspec`. */
  readonly source: string;
  readonly module: string | null;
  readonly status: 'running' | StopReason;
  /** Why it ended; null while it runs. */
  readonly cause: Stop['cause'] | null;
  /** `cause` in words. */
  readonly detail: string | null;
  /** A new run with --allow-all would not stop for this cause; missing in older runs. */
  readonly allowAllHelps?: boolean;
  /**
   * The error with which Spool itself ended. The status stays `running`, as the run can be resumed; missing in older
   * runs.
   */
  readonly error?: string | null;
  /** The current iteration, or the last one. */
  readonly iteration: number;
  /** The current agent, or the last one. */
  readonly harness: string;
  readonly model: string | null;
  readonly agents: readonly AgentChoice[];
  readonly allowAll: boolean;
  /** The agent and the verify commands run in a sandbox. */
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
  /** Changes are committed after each iteration. */
  readonly commit: boolean;
  /** Set if iterations leave no notes for the next ones. */
  readonly handover?: false;
  /** Set if the agents are the rungs of a ladder. */
  readonly ladder?: true;
  /** The last switch on the ladder; missing without one. */
  readonly switched?: AgentSwitch;
  /** Task counts at the end; null while it runs, or if there are no tasks. */
  readonly tasks: TaskCount | null;
  /** Work that was in no commit at the end; missing in older runs. */
  readonly uncommitted?: readonly Uncommitted[];
  /** What the run has changed, at its end; missing while it runs, and in older runs. */
  readonly changed?: DiffStat;
  /** The change was gone at the end of the run. */
  readonly changeDeleted?: true;
  /** Running time so far, including the time before an interruption. */
  readonly elapsedMs: number;
  /** Usage of the current iteration so far. */
  readonly currentUsage: Usage | null;
  /** The part of it that the reviewer has used; missing if there was no review. */
  readonly reviewUsage?: Usage | null;
  /** Until when the run waits, in milliseconds since 1970, and why; null if it does not. */
  readonly waiting: { readonly untilMs: number; readonly why: string } | null;
  /** What other processes have requested and the run has not done yet; missing in older runs. */
  readonly requested?: Requested;
  /** The ids of the last requests that the run has taken, oldest first. */
  readonly requests?: readonly string[];
  /** When the run was paused; null if it is not, missing in older runs. */
  readonly pausedAt?: string | null;
  /** When the cooldown of an agent ends, in milliseconds since 1970, by its key. */
  readonly cooldowns: Readonly<Record<string, number>>;
  /** An iteration whose agent has ended but whose gate has not. It is recorded after its gate. */
  readonly pending: IterationRecord | null;
  /** The origin of its settings; null if an older version of Spool wrote the state. */
  readonly settings: SettingsAtStart | null;
  readonly pid: number;
  readonly startedAt: string;
  readonly updatedAt: string;
  readonly endedAt: string | null;
}

/** How a run ended. */
export interface RunResult {
  readonly reason: StopReason;
  readonly cause: RunView['cause'];
  /** The cause in words. */
  readonly detail: string;
  readonly view: RunView;
}

/** A run with status `running` whose process is gone was interrupted. */
export const currentStatus = (view: RunView, alive: boolean): RunView['status'] =>
  view.status === 'running' && !alive ? 'interrupted' : view.status;

/** What a run that is running does instead of working. */
export const runPhases = ['paused', 'waiting', 'stopping'] as const;

export type RunPhase = (typeof runPhases)[number];

/** Returns null for a run that works or has ended. */
export const phaseOf = ({
  status,
  requested,
  pausedAt,
  waiting,
}: Pick<RunView, 'status' | 'requested' | 'pausedAt' | 'waiting'>): RunPhase | null => {
  if (status !== 'running') return null;
  if (asksToStop(requested ?? null)) return 'stopping';
  if (pausedAt) return 'paused';
  return waiting === null ? null : 'waiting';
};

/** Whether a run has not ended, or was interrupted: unless its process lives, it can be resumed. */
export const isResumable = ({ status }: { readonly status: string }): boolean =>
  status === 'running' || status === 'interrupted';

/** Whether an agent, or the gate of its iteration, may be running. */
export const isWorking = ({
  iteration,
  finishedIterations,
  waiting,
  pausedAt,
}: Pick<RunView, 'iteration' | 'finishedIterations' | 'waiting' | 'pausedAt'>): boolean =>
  iteration > finishedIterations && waiting === null && !pausedAt;

/** Whether the iteration that is running is the last one that --max-iterations allows. */
export const isLastIteration = (view: RunView): boolean =>
  isWorking(view) && view.maxIterations !== null && view.iteration >= view.maxIterations;

/**
 * The view without secrets, for files in the project and for notifications. The fields that identify the run are
 * unchanged.
 */
export const publicView = (view: RunView, clean: (view: RunView) => RunView): RunView => {
  const { run, change, source, module, status, cause, workspace, startedAt, updatedAt, endedAt } = view;
  return { ...clean(view), run, change, source, module, status, cause, workspace, startedAt, updatedAt, endedAt };
};

/** Called with each event of a run and the view after it. */
export type OnRunEvent = (event: RunEvent, view: RunView) => void;
