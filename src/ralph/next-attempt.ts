import type { AgentPool } from './agent-pool.ts';
import type { Stop } from './events.ts';
import { nextLadderStep } from './ladder.ts';
import { limitReached, timeLeft } from './limits.ts';
import { allUsage, type LoopHost, nowMs } from './loop-host.ts';
import { outOfIterations } from './next-step.ts';
import { type AgentChoice, agentKey, type RunPlan } from './plan.ts';
import type { IterationRecord } from './record.ts';
import { type IterationAttempt, runIteration } from './run-iteration.ts';
import type { RunTotals } from './totals.ts';

interface Before {
  readonly pool: AgentPool;
  readonly last: IterationRecord | null;
  readonly earlier: IterationRecord | null;
}

/** Waits until the next iteration may start and an agent is available, and runs it. */
export const nextAttempt = async (
  plan: RunPlan,
  { pool, last, earlier }: Before,
  host: LoopHost,
): Promise<IterationAttempt | { readonly stop: Stop }> => {
  for (;;) {
    const early = stopBefore(plan, last, host);
    if (early) return { stop: early };
    if (host.isPauseRequested()) {
      await pause(plan, last, host);
      continue;
    }
    const ladderStep = nextLadderStep(plan, { last, earlier });
    const { agent, freeAtMs } = pool.next(nowMs(host), ladderStep?.rung);
    if (freeAtMs > nowMs(host)) {
      const tooLong = waitsTooLong(plan, host.totals(), { agent, freeAtMs });
      if (tooLong) return { stop: tooLong };
      await waitForAgent(plan, { agent, freeAtMs }, host);
      continue;
    }
    const notAdmitted = await host.admit();
    if (notAdmitted) return { stop: notAdmitted };
    return { agent, ended: await runIteration({ plan, agent, ladderStep, last }, host), isResumed: false };
  }
};

/** Returns why the next iteration must not start; null if it may. */
const stopBefore = (plan: RunPlan, last: IterationRecord | null, host: LoopHost): Stop | null => {
  const signal = host.stopSignal();
  if (signal !== null) return { cause: 'signal', detail: `stopped by ${signal}` };
  if (host.totals().finishedIterations >= plan.maxIterations) return outOfIterations(plan.maxIterations, last);
  return limitReached(plan.limits, {
    elapsedMs: host.elapsedMs(),
    nowMs: nowMs(host),
    usage: allUsage(host),
  });
};

interface CoolingDown {
  readonly agent: AgentChoice;
  readonly freeAtMs: number;
}

const waitsTooLong = ({ limits }: RunPlan, totals: RunTotals, { agent, freeAtMs }: CoolingDown): Stop | null => {
  if (totals.deferredSinceMs === null || freeAtMs - totals.deferredSinceMs <= limits.maxWaitMs) return null;
  const why = totals.deferred.at(-1)?.error?.message ?? 'usage limit reached';
  return { cause: 'max-wait', detail: `${agentKey(agent)} is not available within --max-wait: ${why}` };
};

const waitForAgent = async ({ limits }: RunPlan, { agent, freeAtMs }: CoolingDown, host: LoopHost): Promise<void> => {
  const why = whyUnavailable(agent, host.totals());
  const untilMs = Math.min(freeAtMs, deadlineMs(limits, host));
  host.emit({ type: 'waiting', untilMs, why, at: host.now().toISOString() });
  await host.waitUntil(untilMs);
};

/** Why the last attempt with this agent was deferred. */
const whyUnavailable = (agent: AgentChoice, { deferred }: RunTotals): string => {
  const name = agentKey(agent);
  const error = deferred.findLast(({ harness, model }) => agentKey({ harness, model }) === name)?.error ?? null;
  if (error === null) return `${name} is not available yet`;
  return `${error.kind === 'rate-limit' ? `usage limit of ${name}` : `${name} cannot run`}: ${error.message}`;
};

/** Waits for a request to resume, a stop or a limit. */
const pause = async (plan: RunPlan, last: IterationRecord | null, host: LoopHost): Promise<void> => {
  const sinceMs = nowMs(host);
  host.emit({ type: 'paused', at: host.now().toISOString() });
  while (host.isPauseRequested() && stopBefore(plan, last, host) === null)
    await host.waitForResume(deadlineMs(plan.limits, host));
  if (stopBefore(plan, last, host) !== null) return;
  host.emit({ type: 'resumed', pausedMs: nowMs(host) - sinceMs, at: host.now().toISOString() });
};

const deadlineMs = (limits: RunPlan['limits'], host: LoopHost): number =>
  nowMs(host) + timeLeft(limits, { elapsedMs: host.elapsedMs(), nowMs: nowMs(host) });
