import { applyGate, runsCommands, wasInterrupted } from './gate-result.ts';
import { observeIteration } from './observe-iteration.ts';
import type { LadderStep } from './ladder.ts';
import { budgetAbort, deadlinesOf } from './limits.ts';
import { allUsage, type LoopHost } from './loop-host.ts';
import type { AgentChoice, RunPlan } from './plan.ts';
import type { IterationRecord } from './record.ts';
import { rejectUnread } from './unread-context.ts';
import { addUsage } from './usage.ts';

interface IterationRequest {
  readonly plan: RunPlan;
  readonly agent: AgentChoice;
  /** null without a ladder. */
  readonly ladderStep: LadderStep | null;
  readonly last: IterationRecord | null;
}

/** Runs one agent and returns its record, without the gate. */
export const runIteration = async (
  { plan, agent, ladderStep, last }: IterationRequest,
  host: LoopHost,
): Promise<IterationRecord> => {
  const { finishedIterations, deferred, usageLeftOut } = host.totals();
  const iteration = finishedIterations + 1;
  const started = host.now();
  const startMs = host.monotonicMs();
  // An attempt that was deferred has announced it.
  if (ladderStep?.switched && deferred.length === 0)
    host.emit({ type: 'agent-switched', switched: ladderStep.switched, at: started.toISOString() });
  host.emit({ type: 'iteration-started', iteration, agent, at: started.toISOString() });
  const { text: prompt, contextId } = await host.prompt(iteration, last);
  const observer = observeIteration({ ...plan, trailer: host.trailer(agent) }, prompt);
  const finishWork = await host.trackWork(iteration);
  const deadlines = deadlinesOf(plan.limits, host.elapsedMs());
  const agentStartMs = host.monotonicMs();
  const ended = await host.runAgent({ agent, iteration, prompt, deadlines }, (event) => {
    observer.observe(event);
    host.emit({ type: 'agent', event });
    return event.type === 'usage' && !observer.promised()
      ? budgetAbort(plan.limits, addUsage(allUsage(host), observer.usage()))
      : null;
  });
  if (observer.promised()) await host.endAgents();
  const agentEndMs = host.monotonicMs();
  const ticked = await host.completedTasks();
  const changes = await finishWork({ lastWords: observer.lastWords(), ticked });
  const record: IterationRecord = {
    v: 2,
    run: plan.run,
    iteration,
    startedAt: started.toISOString(),
    durationMs: Math.round(agentEndMs - startMs),
    phases: {
      agentMs: Math.round(agentEndMs - agentStartMs),
      gateMs: 0,
      spoolMs: Math.round(agentStartMs - startMs + host.monotonicMs() - agentEndMs),
    },
    ...agent,
    exitCode: ended.exitCode,
    signal: ended.signal,
    end: ended.end,
    ...changes,
    ...observer.judge(ended),
    gate: null,
    tasks: null,
    context: contextId,
    ticked,
    ...(ladderStep && { rung: ladderStep.rung, ...(ladderStep.switched && { switched: ladderStep.switched }) }),
    deferred,
    ...(usageLeftOut && { usageLeftOut }),
  };
  return host.boundRecord(record);
};

/** An iteration whose agent has ended. */
export interface IterationAttempt {
  readonly agent: AgentChoice;
  readonly ended: IterationRecord;
  /** Its gate was interrupted, and only the gate is run again. */
  readonly isResumed: boolean;
}

/**
 * Returns the record with the result of its gate; null if the gate was interrupted by a stop request.
 * The commands may take long, so the record is saved before they start: after an interruption only they are run again.
 */
export const passGate = async (
  plan: RunPlan,
  attempt: Pick<IterationAttempt, 'ended' | 'isResumed'>,
  host: LoopHost,
): Promise<IterationRecord | null> => {
  const ended = rejectUnread(attempt.ended, host.contextId());
  if (!attempt.isResumed && runsCommands(plan.gate, ended))
    host.emit({ type: 'iteration-pending', record: ended, at: host.now().toISOString() });
  const startMs = host.monotonicMs();
  const gate = await host.gate(ended.iteration, ended, attempt.isResumed);
  if (gate && wasInterrupted(gate) && host.stopSignal() !== null) return null;
  const tasks = await host.tasks();
  const phases = ended.phases && { ...ended.phases, gateMs: Math.round(host.monotonicMs() - startMs) };
  const record = { ...ended, ...applyGate(ended, gate), ...(phases && { phases }), gate, tasks };
  // The checks may have taken long.
  const judged = host.boundRecord(rejectUnread(record, host.contextId()));
  return judged.completionFound ? host.addProofToCommit(judged) : judged;
};
