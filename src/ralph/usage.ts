import type { Usage } from './events.ts';

/** What is unknown in both stays unknown; what one of them knows is counted. */
export const addUsage = (a: Usage | null, b: Usage | null): Usage | null => {
  if (a === null || b === null) return a ?? b;
  const add = (one: number | null, other: number | null) => (one === null ? other : one + (other ?? 0));
  return {
    inputTokens: add(a.inputTokens, b.inputTokens),
    outputTokens: add(a.outputTokens, b.outputTokens),
    cacheReadTokens: add(a.cacheReadTokens, b.cacheReadTokens),
    cacheWriteTokens: add(a.cacheWriteTokens, b.cacheWriteTokens),
    reasoningTokens: add(a.reasoningTokens, b.reasoningTokens),
    costUsd: add(a.costUsd, b.costUsd),
  };
};

/** What the run has used, with the attempts that are in no record yet. */
export const totalUsage = ({
  usage,
  held,
}: {
  readonly usage: Usage | null;
  readonly held: readonly { readonly usage: Usage | null }[];
}): Usage | null => addUsage(usage, usageOf(held));

/** What some attempts used together. */
export const usageOf = (attempts: readonly { readonly usage: Usage | null }[]): Usage | null =>
  attempts.reduce<Usage | null>((sum, { usage }) => addUsage(sum, usage), null);

/** `1,234,567`. The first call of `toLocaleString` in a process takes 15 ms. */
export const grouped = (number: number): string => {
  const [whole, ...rest] = String(number).split('.');
  return [whole!.replaceAll(/\B(?=(?:\d{3})+$)/g, ','), ...rest].join('.');
};
