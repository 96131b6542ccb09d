import type { RunView } from '../ralph/view.ts';

/** Which change, in which repository. */
export interface ChangeKey {
  readonly project: string;
  readonly id: string;
}

/** `queued` and `waiting` changes are free to take; `running` ones are taken until their lease ends. */
export type ChangeState =
  'queued' | 'running' | 'waiting' | 'paused' | 'stopped' | 'complete' | 'failed' | 'limit' | 'blocked';

/** What a person asks workers to do. It contains nothing that a worker would execute. */
export interface QueueRequest {
  readonly v: 1;
  readonly prompt: string;
  /** The source of the change, such as `openspec`. */
  readonly source: string;
  /** The branch that the work starts from and lands on, and its commit. */
  readonly base: { readonly branch: string; readonly commit: string };
  /** The folder of the project in its repository: empty, or such as `packages/app`. */
  readonly folder: string;
  /** Settings of the run by name, as typed. */
  readonly settings: Readonly<Record<string, string | boolean>>;
  /** Start a new run, on a new branch. */
  readonly fresh: boolean;
}

export interface ChangeRow extends ChangeKey {
  readonly state: ChangeState;
  readonly detail: string | null;
  readonly priority: number;
  readonly labels: readonly string[];
  readonly requirements: readonly string[];
  readonly request: QueueRequest;
  readonly budget: string | null;
  readonly queued_at: Date;
  readonly queued_by: string;
  readonly available_at: Date;
  readonly epoch: number;
  readonly owner: string | null;
  readonly host: string | null;
  readonly claimed_at: Date | null;
  readonly lease_until: Date | null;
  readonly run: string | null;
  readonly iteration: number | null;
  readonly view: RunView | null;
  readonly cost_usd: number;
  /** The commit of the fence that the remote has. */
  readonly fence: string | null;
  /** The commit that it may have, if a worker was killed during a push. */
  readonly next_fence: string | null;
  /** All commits that it may have: of workers that were killed, or cut off, during a push. */
  readonly open_fences: readonly string[];
  readonly branch: string | null;
  readonly tip: string | null;
  readonly next_tip: string | null;
}

/** A change that this worker has taken. Every write of the worker names its epoch. */
export interface Claim extends ChangeRow {
  readonly owner: string;
}
