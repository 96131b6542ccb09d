import type { Ledger, ProofCount, ScenarioProof } from '../../ralph/proof.ts';
import type { IterationRecord } from '../../ralph/record.ts';
import type { RunView } from '../../ralph/view.ts';

/** What is known about the scenarios of a change, and about its last run. Every form of the proof is rendered from it. */
export interface ProofReport {
  readonly change: string;
  /** The first heading of its proposal; null if there is none. */
  readonly title: string | null;
  readonly archived: boolean;
  /** Whether the branch of the last run has landed. */
  readonly landed: boolean;
  /** As the specs are now, in their order. */
  readonly scenarios: readonly ScenarioProof[];
  readonly count: ProofCount;
  readonly unknown: Ledger['unknown'];
  /** The gate that checked them last; null if none did. */
  readonly gate: CheckedBy | null;
  readonly tasks: readonly ReportedTask[];
  /** Of the last run; null if there was none. */
  readonly run: RunView | null;
  /** Of the last run, oldest first. */
  readonly records: readonly IterationRecord[];
}

/** A gate, with the worker whose it was; missing for one of this machine. */
export type CheckedBy = Pick<Ledger, 'run' | 'iteration' | 'at' | 'worker'>;

/** A run that a worker has, and that was not fetched. */
export interface SentRun {
  readonly ledger: Ledger | null;
  readonly view: RunView | null;
  readonly records: readonly IterationRecord[];
}

interface ReportedTask {
  readonly title: string;
  readonly done: boolean;
  readonly optional: boolean;
}
