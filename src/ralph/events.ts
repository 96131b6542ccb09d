import type { AgentEvent } from './agent-events.ts';
import type { AgentSwitch, IterationRecord, DeferredAttempt, ReviewReport, TaskCount } from './record.ts';
import type { AgentChoice, Workspace, RunPlan, CommandOrigin } from './plan.ts';
import type { ControlCommand } from './control.ts';

export type StopReason = 'complete' | 'limit' | 'failed' | 'blocked' | 'interrupted';

/** Everything that can end a run, and the resulting stop reason. */
export const stopCauses = {
  promise: 'complete',
  'blocked-promise': 'blocked',
  'max-stalled': 'blocked',
  'max-reviews': 'blocked',
  denied: 'blocked',
  signal: 'interrupted',
  'not-started': 'failed',
  'fail-fast': 'failed',
  'max-failures': 'failed',
  'max-iterations': 'limit',
  'max-duration': 'limit',
  until: 'limit',
  'max-cost': 'limit',
  'max-tokens': 'limit',
  'max-wait': 'limit',
} as const satisfies Record<string, StopReason>;

/** Work of a run that is not committed. */
export interface Uncommitted {
  readonly why: string;
  /** The first of them. */
  readonly files: readonly string[];
  readonly count: number;
  /** The commit that has it, if that is on no branch. */
  readonly commit?: string;
}

/** What the iterations of a run changed, without what others changed between them. */
export interface DiffStat {
  readonly files: number;
  readonly insertions: number;
  readonly deletions: number;
}

export interface Stop {
  readonly cause: keyof typeof stopCauses;
  /** `cause` in words. */
  readonly detail: string;
  /** A new run with --allow-all would not stop for this cause. */
  readonly allowAllHelps?: true;
}

/**
 * Everything that happens in a run; `run-ended` is the last event of a start. The terminal output, state.json and the
 * status are derived from this stream.
 */
export type RunEvent =
  | {
      readonly type: 'run-started';
      readonly plan: RunPlan;
      readonly workspace: Workspace;
      /** Commands that are run besides the built-in agents. */
      readonly commands?: readonly CommandOrigin[];
      /** Short names of what the agent must not change. */
      readonly guarded?: readonly string[];
      /** How the tasks of a task file are written; only for a run with --file. */
      readonly format?: string;
      /** Task counts at the start; null if there are no tasks, missing in older journals. */
      readonly tasks?: TaskCount | null;
      /** null without git; `branch` is null for a detached HEAD. Missing in older journals. */
      readonly repository?: { readonly branch: string | null } | null;
      readonly at: string;
    }
  /** The next iteration is run by another rung of the ladder. */
  | { readonly type: 'agent-switched'; readonly switched: AgentSwitch; readonly at: string }
  | { readonly type: 'iteration-started'; readonly iteration: number; readonly agent: AgentChoice; readonly at: string }
  | { readonly type: 'agent'; readonly event: AgentEvent }
  /** The tasks were edited while the agent works. Looked at once a second, so an agent that is fast causes none. */
  | { readonly type: 'tasks-changed'; readonly tasks: TaskCount; readonly at: string }
  | {
      readonly type: 'notice';
      readonly text: string;
      /** What the run does from now on, if that has changed. */
      readonly activity?: 'committing';
    }
  | { readonly type: 'iteration-finished'; readonly record: IterationRecord; readonly at: string }
  /** The agent is not available: the iteration is retried with another agent, or after the cooldown. */
  | {
      readonly type: 'attempt-deferred';
      readonly attempt: DeferredAttempt;
      readonly untilMs: number;
      readonly atMs: number;
      readonly at: string;
    }
  | { readonly type: 'waiting'; readonly untilMs: number; readonly why: string; readonly at: string }
  /** Another process has asked for this, and the run will do it. */
  | {
      readonly type: 'requested';
      readonly command: ControlCommand;
      /** Identifies the request; missing in older journals. */
      readonly id?: string;
      readonly at: string;
    }
  /** The run waits for a request to resume. */
  | { readonly type: 'paused'; readonly at: string }
  | { readonly type: 'resumed'; readonly pausedMs: number; readonly at: string }
  /** The agent has ended and the gate starts. If it is interrupted, the record is enough to run it again. */
  | { readonly type: 'iteration-pending'; readonly record: IterationRecord; readonly at: string }
  | { readonly type: 'gate-started'; readonly commands: readonly string[] }
  /** Another agent reviews the work, for the first time or again. */
  | {
      readonly type: 'review-started';
      readonly iteration: number;
      readonly agent: AgentChoice;
      readonly attempt: number;
      readonly at: string;
    }
  | { readonly type: 'reviewer'; readonly event: AgentEvent }
  | {
      readonly type: 'review-finished';
      readonly iteration: number;
      readonly review: ReviewReport;
      readonly at: string;
    }
  | ({
      readonly type: 'run-ended';
      readonly reason: StopReason;
      readonly tasks: TaskCount | null;
      readonly uncommitted?: readonly Uncommitted[];
      /** Missing without git, and in older journals. */
      readonly changed?: DiffStat;
      /** The change is neither active nor archived any more. */
      readonly changeDeleted?: true;
      /** Lines for the user about what is left of the workspace; missing in older journals. */
      readonly notes?: readonly string[];
      readonly at: string;
    } & Stop);

export type Emit = (event: RunEvent) => void;
