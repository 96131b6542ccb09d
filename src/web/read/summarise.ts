import { chartedIteration } from '../../charts/charted.ts';
import { iterationOutcome } from '../../ralph/outcome.ts';
import type { IterationRecord } from '../../ralph/record.ts';
import type { IterationSummary } from '../api.ts';

/** An iteration in short, for lists and charts. */
export const summarise = (record: IterationRecord): IterationSummary => {
  const { error, gate } = record;
  return {
    ...chartedIteration(record),
    outcome: iterationOutcome(record),
    harness: record.harness,
    model: record.model,
    ticked: record.ticked ?? [],
    toolCalls: record.tools && Object.values(record.tools).reduce((sum, times) => sum + times, 0),
    rejected: record.rejected,
    error: error && { kind: error.kind, message: error.message },
    blocked: record.blocked,
    denied: record.denied?.message ?? null,
    gate: gate && { passed: gate.passed, commands: gate.runs.length },
    commit: record.commit,
    checkpoint: record.checkpoint,
    deferred: record.deferred.length,
    switched: record.switched ?? null,
    handover: record.handover ?? null,
  };
};
