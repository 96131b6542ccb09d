import { userError } from '../errors.ts';
import { limitReached, mapLimits } from '../ralph/limits.ts';
import type { RunPlan } from '../ralph/plan.ts';
import { stopByPromise } from '../ralph/policy.ts';
import { addUsage, totalUsage } from '../ralph/usage.ts';
import type { RunView } from '../ralph/view.ts';
import { duration, pluralise } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import type { Planned } from './plan.ts';

/** A limit that a run has reached, so that it cannot start another iteration. */
export interface UsedUp {
  /** Such as `it has used 3 iterations (--max-iterations 3)`. */
  readonly why: string;
  /** The command that resumes the run with a higher limit. */
  readonly command: string;
}

/** A resumed run that has reached a limit would end at once. Throws before anything of it is written or shown. */
export const checkUsedUp = ({ plan, previous }: Pick<Planned, 'plan' | 'previous'>): void => {
  if (previous === null || previous.view.pending !== null) return;
  if (previous.last && stopByPromise(plan, previous.last)) return;
  const found = usedUp(previous.view, plan);
  if (found) throw userError('limit-reached', plan.change, found.why, found.command);
};

/** Returns the limit that a run has reached; null if it can be resumed with the limits that it has. */
export const usedUp = (
  view: RunView,
  plan: Pick<RunPlan, 'maxIterations' | 'limits'> = limitsOf(view),
): UsedUp | null => {
  const { change, finishedIterations, elapsedMs } = view;
  const { maxIterations, limits } = plan;
  const found = (used: string, flag: string, [limit, higher]: readonly [string, string]): UsedUp => ({
    why: `it has ${used} (${flag} ${limit})`,
    command: commandLine('spool', 'ralph', '--change', change, flag, higher),
  });
  if (finishedIterations >= maxIterations)
    return found(`used ${pluralise(finishedIterations, 'iteration')}`, '--max-iterations', [
      String(maxIterations),
      String(finishedIterations + maxIterations),
    ]);
  const usage = addUsage(totalUsage(view), view.currentUsage);
  switch (limitReached(limits, { elapsedMs, nowMs: 0, usage })?.cause) {
    case 'max-duration':
      return found(`run for ${duration(elapsedMs)}`, '--max-duration', [
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
      const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
      return found(`used ${tokens} tokens`, '--max-tokens', [
        String(limits.maxTokens),
        String(tokens + limits.maxTokens),
      ]);
    }
    default:
      return null;
  }
};

const limitsOf = ({ maxIterations, limits }: RunView): Pick<RunPlan, 'maxIterations' | 'limits'> => ({
  maxIterations: maxIterations ?? Infinity,
  limits: mapLimits((name) => limits[name] ?? Infinity),
});

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
