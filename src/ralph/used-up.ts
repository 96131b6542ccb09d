import { limitReached, limitsOf } from './limits.ts';
import type { RunPlan } from './plan.ts';
import { spentUsage, tokensOf } from './usage.ts';
import type { RunView } from './view.ts';

/** A limit that a run has reached, so that it cannot start another iteration. */
export interface UsedUp {
  /** Such as `it has used 3 iterations (--max-iterations 3)`. */
  readonly why: string;
  /** What raises the limit, such as `--max-iterations 6`. */
  readonly flags: readonly [flag: string, higher: string];
}

/** Returns the limit that a run has reached; null if it can be resumed with the limits that it has. */
export const usedUp = (
  view: RunView,
  plan: Pick<RunPlan, 'maxIterations' | 'limits'> = limitsOf(view),
): UsedUp | null => {
  const { finishedIterations, elapsedMs, pending } = view;
  const { maxIterations, limits } = plan;
  const found = (used: string, flag: string, [limit, higher]: readonly [string, string]): UsedUp => ({
    why: `it has ${used} (${flag} ${limit})`,
    flags: [flag, higher],
  });
  // Only its checks are run again.
  if (pending !== null) return null;
  if (finishedIterations >= maxIterations)
    return found(
      `used ${finishedIterations} ${finishedIterations === 1 ? 'iteration' : 'iterations'}`,
      '--max-iterations',
      [String(maxIterations), String(finishedIterations + maxIterations)],
    );
  const usage = spentUsage(view);
  switch (limitReached(limits, { elapsedMs, nowMs: 0, usage })?.cause) {
    case 'max-duration':
      return found(`run for ${flagDuration(elapsedMs)}`, '--max-duration', [
        flagDuration(limits.maxDurationMs),
        flagDuration(elapsedMs + limits.maxDurationMs),
      ]);
    case 'max-cost': {
      const cost = usage?.costUsd ?? 0;
      return found(`spent $${cost.toFixed(2)}`, '--max-cost', [
        String(limits.maxCostUsd),
        String(Math.ceil(cost + limits.maxCostUsd)),
      ]);
    }
    case 'max-tokens': {
      const tokens = tokensOf(usage) ?? 0;
      return found(`used ${tokens} tokens`, '--max-tokens', [
        String(limits.maxTokens),
        String(tokens + limits.maxTokens),
      ]);
    }
    default:
      return null;
  }
};

/** A duration as a flag takes it: `2h`, `90m`, `45s`. */
const flagDuration = (ms: number): string => {
  const [unit, size] = (
    [
      ['h', 3_600_000],
      ['m', 60_000],
    ] as const
  ).find(([, each]) => ms % each === 0) ?? ['s', 1000];
  return `${Math.ceil(ms / size)}${unit}`;
};
