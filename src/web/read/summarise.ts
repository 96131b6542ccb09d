import { chartedIteration } from '../../charts/charted.ts';
import type { IterationRecord } from '../../ralph/record.ts';
import type { IterationOutcome, IterationSummary } from '../api.ts';

/** An iteration in short, for lists and charts. */
export const summarise = (record: IterationRecord): IterationSummary => {
  const { error, gate } = record;
  return {
    ...chartedIteration(record),
    outcome: outcomeOf(record),
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

const outcomeOf = (record: IterationRecord): IterationOutcome => {
  if (record.completionFound) return 'complete';
  if (record.end === 'interrupted') return 'interrupted';
  if (record.error !== null) return 'failed';
  if (record.blocked !== null) return 'blocked';
  if (record.rejected !== null) return 'refused';
  // Without git it is not known.
  const isUnchanged = record.git?.filesChanged === 0 && (record.ticked ?? []).length === 0;
  return isUnchanged ? 'no-changes' : 'progress';
};
