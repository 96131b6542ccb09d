import { type AgentChoice, agentKey, type IterationRecord } from './events.ts';

export interface AgentPoolOptions {
  readonly agents: readonly AgentChoice[];
  /** How long an agent that hits its usage limit is left alone at first when nobody says for how long; doubles. */
  readonly firstCooldownMs: number;
  /** When the agents that were held up before are free, by their keys. */
  readonly cooldowns?: ReadonlyMap<string, number>;
  /** From 0 to 1, another one each time. */
  readonly random: () => number;
}

const maxCooldownMs = 30 * 60_000;
const minCooldownMs = 100;
/** An agent that does not start, or is not signed in, is tried again after this time. */
const unusableCooldownMs = 15 * 60_000;

/** Who works next: the first agent that is not held up by a usage limit, or by not being able to work at all. */
export const createAgentPool = ({ agents, firstCooldownMs, cooldowns = new Map(), random }: AgentPoolOptions) => {
  const cooldownEnds = new Map(cooldowns);
  const inARow = new Map<string, number>();
  const unusable = new Set<string>();
  const freeAt = (agent: AgentChoice) => cooldownEnds.get(agentKey(agent)) ?? 0;

  /** Somewhat later than stated: not all loops of a user should start in the same second. Longer each time. */
  const restUntil = (agent: AgentChoice, record: IterationRecord, nowMs: number): number => {
    if (record.error?.kind !== 'rate-limit') return nowMs + unusableCooldownMs;
    const times = inARow.get(agentKey(agent)) ?? 0;
    const rest = Math.min(maxCooldownMs, Math.max(minCooldownMs, firstCooldownMs) * 2 ** Math.min(30, times));
    const unstated = Math.round(nowMs + rest * (0.8 + 0.4 * random()));
    const stated = record.error.resetsAtMs ?? 0;
    if (stated <= nowMs) return unstated;
    const late = Math.round(stated + Math.min(60_000, (stated - nowMs) * 0.1) * random());
    return times === 0 ? late : Math.max(late, unstated);
  };

  return {
    /** The one that may work, and from when on. When all are held up, it is the one that is free first. */
    next(nowMs: number): { agent: AgentChoice; freeAtMs: number } {
      const soonest = agents.toSorted((a, b) => freeAt(a) - freeAt(b))[0]!;
      const agent = agents.find((candidate) => freeAt(candidate) <= nowMs) ?? soonest;
      return { agent, freeAtMs: freeAt(agent) };
    },

    /** Learns from an attempt: until when the agent is held up; null when it was not, and its record counts. */
    cooldownUntil(agent: AgentChoice, record: IterationRecord, nowMs: number): number | null {
      const key = agentKey(agent);
      const useless = record.end === 'not-started' || record.error?.kind === 'auth' || record.error?.kind === 'model';
      // An agent that cannot work at all is passed over only for one that can, now or when its limit ends.
      const othersCan = agents.some((other) => other !== agent && !unusable.has(agentKey(other)));
      if (record.error?.kind !== 'rate-limit' && !(useless && othersCan)) {
        inARow.delete(key);
        unusable.delete(key);
        return null;
      }
      const until = restUntil(agent, record, nowMs);
      inARow.set(key, (inARow.get(key) ?? 0) + 1);
      if (useless) unusable.add(key);
      else unusable.delete(key);
      cooldownEnds.set(key, until);
      return until;
    },
  };
};
