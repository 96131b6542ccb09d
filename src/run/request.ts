import type { StopReason, Usage } from '../ralph/events.ts';
import type { RunView } from '../ralph/view.ts';
import type { PlanRequest } from './plan.ts';
import type { RunServices } from './services.ts';
import type { TrustedRuns } from './trust.ts';

/** What is to be run, and what it needs from whoever starts it. */
export interface RunRequest extends PlanRequest, RunServices {
  /** What the user asks for, beside what the change says; empty for nothing, or for what the interrupted run was given. */
  readonly prompt: string;
  /** What paths in the settings are relative to. */
  readonly cwd: string;
  readonly trusted: TrustedRuns;
  /** A run that was started elsewhere, and that the user wants to be resumed. */
  readonly agreed?: RunView;
  /** What this run has in common with others that were started together with it. */
  readonly batch?: Batch;
}

export interface RunResult {
  readonly reason: StopReason;
  readonly cause: RunView['cause'];
  /** The cause in words. */
  readonly detail: string;
  readonly view: RunView;
}

interface Batch {
  /** What the others have used so far. */
  usageOfOthers(): Usage | null;
  /** Does what only one of them may do at a time. */
  exclusive<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Agents that keep a database get one of their own. */
  readonly isolateAgentData: boolean;
}
