import { type Usage } from '../ralph/agent-events.ts';
import { grouped, tokensOf } from '../ralph/usage.ts';
import { dollars } from '../text/dollars.ts';
import { shortNumber } from '../text/short-number.ts';

/** `2,000 tokens in (200 cached), 100 out (20 reasoning), <$0.01`; empty if the agent reported nothing. */
export const usageText = (usage: Usage | null | undefined): string => {
  if (!usage) return '';
  const { inputTokens, outputTokens, cacheReadTokens, reasoningTokens, costUsd } = usage;
  return [
    ...(inputTokens === null ? [] : [`${grouped(inputTokens)} tokens in${part(cacheReadTokens, 'cached')}`]),
    ...(outputTokens === null ? [] : [`${grouped(outputTokens)} out${part(reasoningTokens, 'reasoning')}`]),
    ...(costUsd === null ? [] : [costText(usage)]),
  ].join(', ');
};

const part = (number: number | null, name: string) => (number ? ` (${grouped(number)} ${name})` : '');

/** `<$0.01`, `$0.04`, `$12.40`; empty if it is unknown. */
export const costText = (usage: Pick<Usage, 'costUsd'> | null | undefined): string => dollars(usage?.costUsd ?? null);

/** `950 tokens`, `37.8k tokens`, `2.1m tokens`; empty if they are unknown. */
export const shortTokens = (usage: Usage | null): string => {
  const tokens = tokensOf(usage);
  if (tokens === null) return '';
  return tokens === 1 ? '1 token' : `${shortNumber(tokens)} tokens`;
};
