import type { AgentChoice, IterationRecord } from './events.ts';

/** How long an agent that could not work is left alone when nobody says for how long. */
const restMs = 15 * 60_000;

/** Who works next: the first agent that is not held up by a usage limit, or by not starting at all. */
export const createRoster = (agents: readonly AgentChoice[]) => {
  const restingUntil = new Map<AgentChoice, number>();
  const isFree = (agent: AgentChoice, now: Date) => (restingUntil.get(agent) ?? 0) <= now.getTime();

  return {
    /** When all are held up, the one that is free first. */
    next(now: Date): AgentChoice {
      const soonest = agents.toSorted((a, b) => (restingUntil.get(a) ?? 0) - (restingUntil.get(b) ?? 0))[0]!;
      return agents.find((agent) => isFree(agent, now)) ?? soonest;
    },

    /** Learns from an iteration; true when another agent can take over at once. */
    handsOver(agent: AgentChoice, record: IterationRecord, now: Date): boolean {
      const { error } = record;
      if (error?.kind !== 'limit' && record.end !== 'not-started') return false;
      const stated = error?.resetsAtMs ?? 0;
      restingUntil.set(agent, stated > now.getTime() ? stated : now.getTime() + restMs);
      return agents.some((other) => other !== agent && isFree(other, now));
    },
  };
};
