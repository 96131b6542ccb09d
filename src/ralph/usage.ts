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
  deferred,
}: {
  readonly usage: Usage | null;
  readonly deferred: readonly { readonly usage: Usage | null }[];
}): Usage | null => addUsage(usage, usageOf(deferred));

/** What some attempts used together. */
export const usageOf = (attempts: readonly { readonly usage: Usage | null }[]): Usage | null =>
  attempts.reduce<Usage | null>((sum, { usage }) => addUsage(sum, usage), null);

/** `1,234,567`. The first call of `toLocaleString` in a process takes 15 ms. */
export const grouped = (count: number): string => {
  const digits = String(count);
  const first = digits.length % 3 || 3;
  const groups = [digits.slice(0, first)];
  for (let at = first; at < digits.length; at += 3) groups.push(digits.slice(at, at + 3));
  return groups.join(',');
};
