import type { Usage } from './agent-events.ts';

/** Adds two usages. A value that is unknown in one of them counts as 0, and stays null if it is unknown in both. */
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

/** Returns the usage of a run, including deferred attempts that are not recorded yet. */
export const totalUsage = ({
  usage,
  deferred,
}: {
  readonly usage: Usage | null;
  readonly deferred: readonly { readonly usage: Usage | null }[];
}): Usage | null => addUsage(usage, usageOf(deferred));

export const usageOf = (attempts: readonly { readonly usage: Usage | null }[]): Usage | null =>
  attempts.reduce<Usage | null>((sum, { usage }) => addUsage(sum, usage), null);

/** `1,234,567`. Not `toLocaleString`, whose first call takes 15 ms. */
export const grouped = (count: number): string => {
  const digits = String(count);
  const first = digits.length % 3 || 3;
  const groups = [digits.slice(0, first)];
  for (let at = first; at < digits.length; at += 3) groups.push(digits.slice(at, at + 3));
  return groups.join(',');
};

/** Tokens in and out; null if they are unknown. */
export const tokensOf = (usage: Usage | null): number | null =>
  usage === null || (usage.inputTokens === null && usage.outputTokens === null)
    ? null
    : (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
