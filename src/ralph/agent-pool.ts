import { unstatedCooldownMs } from './cooldown.ts';
import { type AgentChoice, agentKey } from './plan.ts';
import { type IterationRecord } from './record.ts';

export interface AgentPoolOptions {
  readonly agents: readonly AgentChoice[];
  readonly retryDelayMs: number;
  /** When the cooldown of an agent ends, by its key. */
  readonly cooldowns?: ReadonlyMap<string, number>;
  /** Like Math.random. */
  readonly random: () => number;
}

/** For an agent that does not start, is not signed in, or does not know its model. */
const unusableCooldownMs = 15 * 60_000;

interface Cooldown {
  readonly until: number;
  /** How often in a row the agent was not available. */
  readonly times: number;
  readonly unusable: boolean;
}

const available: Cooldown = { until: 0, times: 0, unusable: false };

/** Chooses the next agent: the preferred one that is not in a cooldown. */
export interface AgentPool {
  /**
   * Returns the agent to run and when it is available: if all are in a cooldown, the one that is available first.
   * `rung` is preferred, then those above it, then the next ones below it.
   */
  next(nowMs: number, rung?: number): { readonly agent: AgentChoice; readonly freeAtMs: number };
  /** Records an attempt. Returns when to retry it; null if it counts as an iteration. */
  recordAttempt(agent: AgentChoice, record: IterationRecord, nowMs: number): number | null;
}

export const createAgentPool = (options: AgentPoolOptions): AgentPool => {
  const { agents, retryDelayMs, cooldowns = new Map(), random } = options;
  const states = new Map([...cooldowns].map(([key, until]) => [key, { ...available, until }]));
  const stateOf = (agent: AgentChoice): Cooldown => states.get(agentKey(agent)) ?? available;
  const freeAt = (agent: AgentChoice) => stateOf(agent).until;

  const cooldownEnd = (times: number, { error }: IterationRecord, nowMs: number): number => {
    if (error?.kind !== 'rate-limit') return nowMs + unusableCooldownMs;
    const unstated = nowMs + unstatedCooldownMs({ retryDelayMs, times, random });
    const stated = error.resetsAtMs ?? 0;
    if (stated <= nowMs) return unstated;
    const late = Math.round(stated + Math.min(60_000, (stated - nowMs) * 0.1) * random());
    return times === 0 ? late : Math.max(late, unstated);
  };

  return {
    next(nowMs, rung = 1) {
      const preferred = [...agents.slice(rung - 1), ...agents.slice(0, rung - 1).toReversed()];
      const soonest = preferred.toSorted((a, b) => freeAt(a) - freeAt(b))[0]!;
      const agent = preferred.find((candidate) => freeAt(candidate) <= nowMs) ?? soonest;
      return { agent, freeAtMs: freeAt(agent) };
    },

    recordAttempt(agent, record, nowMs) {
      const before = stateOf(agent);
      const why = unavailability(record);
      // An agent that cannot run is skipped only if another agent can, now or after its cooldown.
      const othersCan = agents.some((other) => other !== agent && !stateOf(other).unusable);
      if (why === null || (why === 'unusable' && !othersCan)) {
        states.set(agentKey(agent), { ...available, until: before.until });
        return null;
      }
      const until = cooldownEnd(before.times, record, nowMs);
      states.set(agentKey(agent), { until, times: before.times + 1, unusable: why === 'unusable' });
      return until;
    },
  };
};

/** Returns why an agent could not work; null if it could. */
const unavailability = ({ end, error }: IterationRecord): 'usage limit' | 'unusable' | null => {
  if (error?.kind === 'rate-limit') return 'usage limit';
  return end === 'not-started' || error?.kind === 'auth' || error?.kind === 'model' ? 'unusable' : null;
};
