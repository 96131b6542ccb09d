import type { Limits, RunPlan } from '../ralph/events.ts';
import { grouped } from '../ralph/usage.ts';
import { pluralise, duration, localTime } from '../text/format.ts';

/** The limits of a run, each in a few words. `except` says for whom one does not hold. */
export const limitsText = (
  { maxIterations, limits, failFast }: Pick<RunPlan, 'maxIterations' | 'limits' | 'failFast'>,
  except: (about: 'cost' | 'tokens') => string = () => '',
): string[] => {
  const of = (name: keyof Limits, words: (limit: number) => string): string[] =>
    limits[name] === Infinity ? [] : [words(limits[name])];
  return [
    maxIterations === Infinity ? 'no limit of iterations' : pluralise(maxIterations, 'iteration'),
    ...of('maxDurationMs', (limit) => `${duration(limit)} at work`),
    ...of('untilMs', (limit) => `until ${localTime(new Date(limit).toISOString())}`),
    ...of('maxCostUsd', (limit) => `$${limit}${except('cost')}`),
    ...of('maxTokens', (limit) => `${grouped(limit)} tokens${except('tokens')}`),
    ...of('iterationTimeoutMs', (limit) => `${duration(limit)} an iteration`),
    ...of('idleTimeoutMs', (limit) => `${duration(limit)} without output`),
    ...(failFast ? ['no failure'] : of('maxFailures', (limit) => `${limit} failures in a row`)),
    ...of('maxWaitMs', (limit) => `${duration(limit)} of waiting for a usage limit`),
    ...of('maxStalled', (limit) => `${limit} iterations in a row without a change`),
  ];
};
