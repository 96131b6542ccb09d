import type { AgentError } from '../../ralph/agent-events.ts';
import { unstatedCooldownMs } from '../../ralph/cooldown.ts';
import { agentKey, type AgentChoice } from '../../ralph/plan.ts';
import type { RunContext } from '../context.ts';
import { waitUntil } from '../control.ts';
import { timeLeftNow } from '../deadline.ts';

type WaitContext = Pick<RunContext, 'plan' | 'control' | 'emit' | 'elapsedMs'>;

/** Waits for the usage limit of a reviewer, all waits together no longer than --max-wait. */
export const waitForReviewer = ({ plan, control, emit, elapsedMs }: WaitContext, agent: AgentChoice) => {
  let sinceMs: number | null = null;
  let times = 0;
  return {
    /** Resolves to false if the run must stop, or the wait would be too long. */
    until: async ({ resetsAtMs, message }: AgentError): Promise<boolean> => {
      const nowMs = Date.now();
      sinceMs ??= nowMs;
      const unstated = nowMs + unstatedCooldownMs({ retryDelayMs: plan.retryDelayMs, times, random: Math.random });
      times++;
      const untilMs = resetsAtMs !== undefined && resetsAtMs > nowMs ? resetsAtMs : unstated;
      const waitsTooLong = untilMs - sinceMs > plan.limits.maxWaitMs;
      if (waitsTooLong || untilMs - nowMs >= timeLeftNow({ plan, elapsedMs })) return false;
      const why = `usage limit of the reviewer, ${agentKey(agent)}: ${message}`;
      emit({ type: 'waiting', untilMs, why, at: new Date(nowMs).toISOString() });
      await waitUntil(untilMs, { wait: control.wait, mayWait: () => control.received() === null });
      return control.received() === null;
    },
  };
};
