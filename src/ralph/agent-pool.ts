import { type AgentChoice, agentKey } from './plan.ts';
import { type IterationRecord } from './record.ts';

export interface AgentPoolOptions {
  readonly agents: readonly AgentChoice[];
  /** First cooldown after a usage limit if the provider does not say when it resets; doubles each time. */
  readonly firstCooldownMs: number;
  /** When the cooldown of an agent ends, by its key. */
  readonly cooldowns?: ReadonlyMap<string, number>;
  /** Like Math.random. */
  readonly random: () => number;
}

const maxCooldownMs = 30 * 60_000;
const minCooldownMs = 100;
/** For an agent that does not start, is not signed in, or does not know its model. */
const unusableCooldownMs = 15 * 60_000;

/** Chooses the next agent: the first one that is not in a cooldown. */
export const createAgentPool = ({ agents, firstCooldownMs, cooldowns = new Map(), random }: AgentPoolOptions) => {
  const cooldownEnds = new Map(cooldowns);
  const inARow = new Map<string, number>();
  const unusable = new Set<string>();
  const freeAt = (agent: AgentChoice) => cooldownEnds.get(agentKey(agent)) ?? 0;

  /** Adds some jitter, so that the loops of a user do not all resume at the same time. */
  const cooldownEnd = (agent: AgentChoice, record: IterationRecord, nowMs: number): number => {
    if (record.error?.kind !== 'rate-limit') return nowMs + unusableCooldownMs;
    const times = inARow.get(agentKey(agent)) ?? 0;
    const cooldown = Math.min(maxCooldownMs, Math.max(minCooldownMs, firstCooldownMs) * 2 ** Math.min(30, times));
    const unstated = Math.round(nowMs + cooldown * (0.8 + 0.4 * random()));
    const stated = record.error.resetsAtMs ?? 0;
    if (stated <= nowMs) return unstated;
    const late = Math.round(stated + Math.min(60_000, (stated - nowMs) * 0.1) * random());
    return times === 0 ? late : Math.max(late, unstated);
  };

  return {
    /** Returns the agent to run and when it is available: if all are in a cooldown, the one that is available first. */
    next(nowMs: number): { agent: AgentChoice; freeAtMs: number } {
      const soonest = agents.toSorted((a, b) => freeAt(a) - freeAt(b))[0]!;
      const agent = agents.find((candidate) => freeAt(candidate) <= nowMs) ?? soonest;
      return { agent, freeAtMs: freeAt(agent) };
    },

    /** Returns until when the attempt is deferred; null if it counts as an iteration. */
    cooldownUntil(agent: AgentChoice, record: IterationRecord, nowMs: number): number | null {
      const key = agentKey(agent);
      const cannotRun = record.end === 'not-started' || record.error?.kind === 'auth' || record.error?.kind === 'model';
      // An agent that cannot run is skipped only if another agent can, now or after its cooldown.
      const othersCan = agents.some((other) => other !== agent && !unusable.has(agentKey(other)));
      if (record.error?.kind !== 'rate-limit' && !(cannotRun && othersCan)) {
        inARow.delete(key);
        unusable.delete(key);
        return null;
      }
      const until = cooldownEnd(agent, record, nowMs);
      inARow.set(key, (inARow.get(key) ?? 0) + 1);
      if (cannotRun) unusable.add(key);
      else unusable.delete(key);
      cooldownEnds.set(key, until);
      return until;
    },
  };
};
