import type { Limits, RunPlan } from '../ralph/plan.ts';
import { grouped } from '../ralph/usage.ts';
import { pluralise, duration, localTime } from '../text/format.ts';

/** Describes each limit of a run. `except` names the agents to which a limit does not apply. */
export const limitsText = (
  { maxIterations, limits, failFast }: Pick<RunPlan, 'maxIterations' | 'limits' | 'failFast'>,
  except: (about: 'cost' | 'tokens') => string = () => '',
): string[] => {
  const of = (name: keyof Limits, words: (limit: number) => string): string[] =>
    limits[name] === Infinity ? [] : [words(limits[name])];
  return [
    maxIterations === Infinity ? 'unlimited iterations' : pluralise(maxIterations, 'iteration'),
    ...of('maxDurationMs', (limit) => `${duration(limit)} running time`),
    ...of('untilMs', (limit) => `until ${localTime(new Date(limit).toISOString())}`),
    ...of('maxCostUsd', (limit) => `$${limit}${except('cost')}`),
    ...of('maxTokens', (limit) => `${grouped(limit)} tokens${except('tokens')}`),
    ...of('iterationTimeoutMs', (limit) => `${duration(limit)} per iteration`),
    ...of('idleTimeoutMs', (limit) => `${duration(limit)} idle`),
    ...(failFast ? ['no failures'] : of('maxFailures', (limit) => `${pluralise(limit, 'failure')} in a row`)),
    ...of('maxWaitMs', (limit) => `${duration(limit)} waiting for a usage limit`),
    ...of('maxStalled', (limit) => `${pluralise(limit, 'iteration')} in a row without changes`),
  ];
};
