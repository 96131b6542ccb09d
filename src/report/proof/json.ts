import type { Usage } from '../../ralph/agent-events.ts';
import type { Ledger, ProofCount, ScenarioProof } from '../../ralph/proof.ts';
import { spentUsage } from '../../ralph/usage.ts';
import type { RunView } from '../../ralph/view.ts';
import { isProven } from '../../ralph/proof-rows.ts';
import type { ProofReport } from './report.ts';

/** What `spool proof --json` prints: a documented format. */
export interface ProofJson {
  readonly change: string;
  readonly archived: boolean;
  /** All scenarios are proven, and there is at least one. */
  readonly proven: boolean;
  readonly count: ProofCount;
  /** The gate that checked them last; null if none did. */
  readonly gate: ProofReport['gate'];
  readonly scenarios: readonly ScenarioProof[];
  readonly unknown: Ledger['unknown'];
  /** The last run; null if there was none. */
  readonly run: {
    readonly run: string;
    readonly status: RunView['status'];
    readonly iterations: number;
    readonly startedAt: string;
    readonly endedAt: string | null;
    readonly elapsedMs: number;
    readonly branch: string | null;
    readonly usage: Usage | null;
  } | null;
}

export const proofJson = ({ change, archived, count, gate, scenarios, unknown, run }: ProofReport): ProofJson => ({
  change,
  archived,
  proven: isProven(count),
  count,
  gate,
  scenarios,
  unknown,
  run: run && {
    run: run.run,
    status: run.status,
    iterations: run.finishedIterations,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    elapsedMs: run.elapsedMs,
    branch: run.workspace?.branch ?? null,
    usage: spentUsage(run),
  },
});
