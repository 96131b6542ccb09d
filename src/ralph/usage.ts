import type { Usage } from './agent-events.ts';
import type { IterationRecord } from './record.ts';

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

/** What an iteration has used: its agent, the deferred attempts at it, and the review of its work. */
export const iterationUsage = ({ usage, deferred, usageLeftOut = null, gate }: IterationUsage): Usage | null =>
  usageOf([{ usage }, ...deferred, { usage: usageLeftOut }, ...(gate?.review ? [gate.review] : [])]);

type IterationUsage = Pick<IterationRecord, 'usage' | 'deferred' | 'usageLeftOut' | 'gate'>;

/** What the finished iterations of a run have used, and the deferred attempts at the next one. */
export const totalUsage = ({ usage, deferred, usageLeftOut = null }: FinishedUsage): Usage | null =>
  usageOf([{ usage }, ...deferred, { usage: usageLeftOut }]);

interface FinishedUsage {
  readonly usage: Usage | null;
  readonly deferred: readonly { readonly usage: Usage | null }[];
  readonly usageLeftOut?: Usage | null;
}

/** What a run has used so far, with its current iteration. */
export const spentUsage = (view: FinishedUsage & { readonly currentUsage: Usage | null }): Usage | null =>
  addUsage(totalUsage(view), view.currentUsage);

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
