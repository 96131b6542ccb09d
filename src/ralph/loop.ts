import { type AgentPool, createAgentPool } from './agent-pool.ts';
import { type Stop, stopCauses, type StopReason } from './events.ts';
import { allUsage, type LoopHost, nowMs } from './loop-host.ts';
import { nextAttempt } from './next-attempt.ts';
import { nextStep, stopByPromise } from './next-step.ts';
import { type AgentChoice, agentKey, type RunPlan } from './plan.ts';
import type { IterationRecord } from './record.ts';
import { type IterationAttempt, passGate } from './run-iteration.ts';

/** The state in which a run starts or resumes. */
export interface LoopState {
  readonly last: IterationRecord | null;
  /** The iteration before the last. */
  readonly earlier: IterationRecord | null;
  /** When the cooldown of an agent ends, by its key. */
  readonly cooldowns: ReadonlyMap<string, number>;
  /** The iteration whose gate was interrupted: only the gate is run again. */
  readonly pending: IterationRecord | null;
}

/** Runs iterations until `nextStep` stops the loop. A deferred attempt does not count as an iteration. */
export const runLoop = async (plan: RunPlan, state: LoopState, host: LoopHost): Promise<StopReason> => {
  const pool = createAgentPool({
    ...plan,
    ...state,
    random: host.random,
  });
  let { last, earlier } = state;
  const verdict = last && stopByPromise(plan, last);
  if (verdict) return end(verdict, host);
  let resumed = state.pending && resumedAttempt(plan, state.pending);
  for (;;) {
    const attempt = resumed ?? (await nextAttempt(plan, { pool, last, earlier }, host));
    resumed = null;
    if ('stop' in attempt) return end(attempt.stop, host);
    const record = await passGate(plan, attempt, host);
    if (record === null) return end(gateInterrupted(attempt.ended, host), host);
    if (deferIfUnavailable(attempt.agent, record, pool, host)) continue;
    await persist(record, host);
    await host.publish();
    [earlier, last] = [last, record];
    const step = nextStep({
      plan,
      record,
      totals: { ...host.totals(), usage: allUsage(host) },
      spent: { elapsedMs: host.elapsedMs(), nowMs: nowMs(host) },
      stopSignal: host.stopSignal(),
    });
    if (step.next === 'stop') return end(step.stop, host, missedPause(step.stop, record, host));
    if (step.waitMs > 0) await waitAfterFailure(step.waitMs, host);
  }
};

const resumedAttempt = ({ agents }: RunPlan, ended: IterationRecord): IterationAttempt => {
  const { harness, model } = ended;
  const agent = agents.find((one) => agentKey(one) === agentKey(ended)) ?? { harness, model };
  return { agent, ended, isResumed: true };
};

const gateInterrupted = ({ iteration }: IterationRecord, host: LoopHost): Stop => ({
  cause: 'signal',
  detail: `stopped by ${host.stopSignal()} during the checks of iteration ${iteration}; resuming runs them again`,
});

/** Returns whether the attempt does not count, because the agent was not available. It is then repeated. */
const deferIfUnavailable = (agent: AgentChoice, record: IterationRecord, pool: AgentPool, host: LoopHost): boolean => {
  const untilMs = pool.recordAttempt(agent, record, nowMs(host));
  if (untilMs === null) return false;
  const { deferred: _, usageLeftOut: __, ...attempt } = record;
  host.emit({ type: 'attempt-deferred', attempt, untilMs, atMs: nowMs(host), at: host.now().toISOString() });
  return true;
};

/** Saves a record before it is announced. */
const persist = async (record: IterationRecord, host: LoopHost): Promise<void> => {
  await host.save(record);
  host.emit({ type: 'iteration-finished', record, at: host.now().toISOString() });
};

const waitAfterFailure = async (ms: number, host: LoopHost): Promise<void> => {
  const at = host.now().toISOString();
  host.emit({ type: 'waiting', untilMs: nowMs(host) + ms, why: 'the iteration failed', at });
  await host.wait(ms);
};

/** For a run that ends after an iteration although it was asked to pause then. */
const missedPause = ({ cause }: Stop, { iteration }: IterationRecord, host: LoopHost): string[] =>
  cause !== 'signal' && host.isPauseRequested()
    ? [`The run did not pause, because it ended with iteration ${iteration}.`]
    : [];

/** Ends the run. A deferred attempt that is not recorded yet is recorded, unless the run can be resumed. */
const end = async (stop: Stop, host: LoopHost, moreNotes: readonly string[] = []): Promise<StopReason> => {
  const { deferred, usageLeftOut } = host.totals();
  const reason = stopCauses[stop.cause];
  const lastAttempt = deferred.at(-1);
  if (lastAttempt && reason !== 'interrupted')
    await persist({ ...lastAttempt, deferred: deferred.slice(0, -1), ...(usageLeftOut && { usageLeftOut }) }, host);
  const tasks = await host.tasks();
  const uncommitted = await host.uncommitted();
  const changed = await host.changed();
  const notes = [...(await host.release(reason)), ...moreNotes];
  const changeDeleted = await host.isChangeDeleted();
  host.emit({
    type: 'run-ended',
    reason,
    ...stop,
    tasks,
    uncommitted,
    ...(changed && { changed }),
    ...(changeDeleted && { changeDeleted }),
    notes,
    at: host.now().toISOString(),
  });
  return reason;
};
