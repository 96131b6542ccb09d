import { type AgentEvent, unknownUsage, type Usage } from '../../ralph/agent-events.ts';
import type { AcpQuirks } from '../harness.ts';
import { asObject, field, numberAt, sum } from '../json.ts';

/** Collects what a turn used. Agents report it in different places, most of them in only one. */
export const createUsageMeter = ({ partialUsage }: Pick<AcpQuirks, 'partialUsage'>) => {
  let reported: Usage = unknownUsage;
  let costUsd: number | null = null;

  const total = (now: Usage): readonly AgentEvent[] => {
    const since = usageSince(reported, now);
    reported = now;
    return since === null ? [] : [{ type: 'usage', ...since }];
  };

  return {
    /** The usage of the turn so far. */
    total,
    /** Some agents report the usage of each step. */
    step: (step: Record<string, unknown>): readonly AgentEvent[] =>
      total({
        ...unknownUsage,
        inputTokens: plus(reported.inputTokens, numberAt(step, 'inputTokens')),
        outputTokens: plus(reported.outputTokens, numberAt(step, 'outputTokens')),
        cacheReadTokens: plus(reported.cacheReadTokens, numberAt(step, 'cachedReadTokens')),
        reasoningTokens: plus(reported.reasoningTokens, numberAt(step, 'thoughtTokens')),
      }),
    /** The cost of the turn so far. */
    cost: (update: unknown): void => {
      costUsd = numberAt(update, 'cost', 'amount') ?? costUsd;
    },
    /** What the answer to the prompt has of the usage, for agents that report it nowhere else. */
    answered: (answer: unknown): readonly AgentEvent[] => {
      const tokens = partialUsage ? null : (asObject(field(answer, 'result', 'usage')) ?? quotaIn(answer));
      if (reported !== unknownUsage || (tokens === null && costUsd === null)) return [];
      // Zero stands for what is not known: of a cancelled turn, or of a request that failed.
      if (isNothing(tokens) && !costUsd) return [];
      return total({ ...tokensIn(tokens), costUsd });
    },
  };
};

/** What was used since the last report; null if nothing was. */
const usageSince = (before: Usage, now: Usage): Usage | null => {
  const keys = Object.keys(now) as (keyof Usage)[];
  const since = Object.fromEntries(
    keys.map((key) => [key, now[key] === null ? null : Math.max(0, now[key] - (before[key] ?? 0))]),
  ) as unknown as Usage;
  return keys.every((key) => now[key] === before[key]) ? null : since;
};

const plus = (before: number | null, more: number | null): number | null =>
  more === null ? before : (before ?? 0) + more;

/** Some agents report the usage of a turn as a quota. */
const quotaIn = (answer: unknown): Record<string, unknown> | null => {
  const tokens = asObject(field(answer, 'result', '_meta', 'quota', 'token_count'));
  return tokens && { inputTokens: tokens.input_tokens, outputTokens: tokens.output_tokens };
};

const isNothing = (tokens: unknown): boolean => !numberAt(tokens, 'inputTokens') && !numberAt(tokens, 'outputTokens');

const tokensIn = (tokens: unknown): Omit<Usage, 'costUsd'> => {
  const cacheReadTokens = numberAt(tokens, 'cachedReadTokens');
  const cacheWriteTokens = numberAt(tokens, 'cachedWriteTokens');
  return {
    inputTokens: sum(numberAt(tokens, 'inputTokens'), cacheReadTokens, cacheWriteTokens),
    outputTokens: numberAt(tokens, 'outputTokens'),
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens: numberAt(tokens, 'thoughtTokens'),
  };
};
