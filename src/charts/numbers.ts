import type { Usage } from '../ralph/agent-events.ts';

export const tokensOf = (usage: Usage | null): number | null =>
  usage === null || (usage.inputTokens === null && usage.outputTokens === null)
    ? null
    : (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);

/** `950`, `37.8k`, `2.1m` */
export const shortNumber = (count: number): string => {
  if (count < 1000) return String(count);
  const [number, unit] = count < 999_950 ? [count / 1000, 'k'] : [count / 1_000_000, 'm'];
  return `${Number(number.toFixed(1))}${unit}`;
};
