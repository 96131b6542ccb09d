import type { IterationRecord } from '../ralph/record.ts';
import { iterationUsage } from '../ralph/usage.ts';
import type { ChartedIteration } from './spec.ts';

/** What charts show of the record of an iteration. */
export const chartedIteration = (record: IterationRecord): ChartedIteration => {
  const { phases, git } = record;
  return {
    iteration: record.iteration,
    startedAt: record.startedAt,
    durationMs: phases ? phases.agentMs + phases.gateMs + phases.spoolMs : record.durationMs,
    agentMs: phases?.agentMs ?? null,
    gateMs: phases?.gateMs ?? null,
    spoolMs: phases?.spoolMs ?? null,
    filesChanged: git?.filesChanged ?? null,
    insertions: git?.insertions ?? null,
    deletions: git?.deletions ?? null,
    tasks: record.tasks,
    ticked: record.ticked ?? [],
    usage: iterationUsage(record),
  };
};
