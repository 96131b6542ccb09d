import type { Limits, RunPlan } from '../ralph/plan.ts';
import { grouped } from '../ralph/usage.ts';
import { atTime, dayTime, duration, pluralise } from '../text/format.ts';

type LimitedPlan = Pick<RunPlan, 'maxIterations' | 'limits' | 'failFast'>;

/** Names the agents to which a limit does not apply. */
type Except = (about: 'cost' | 'tokens') => string;

/** Describes each limit of a run. */
export const limitsText = ({ maxIterations, limits, failFast }: LimitedPlan, except: Except = () => ''): string[] => {
  const of = (name: keyof Limits, words: (limit: number) => string): string[] =>
    limits[name] === Infinity ? [] : [words(limits[name])];
  return [
    maxIterations === Infinity ? 'unlimited iterations' : pluralise(maxIterations, 'iteration'),
    ...of('maxDurationMs', (limit) => `${duration(limit)} running time`),
    ...of('untilMs', (limit) => `until ${dayTime(new Date(limit))}`),
    ...of('maxCostUsd', (limit) => `$${limit}${except('cost')}`),
    ...of('maxTokens', (limit) => `${grouped(limit)} tokens${except('tokens')}`),
    ...of('iterationTimeoutMs', (limit) => `${duration(limit)} per iteration`),
    ...of('idleTimeoutMs', (limit) => `${duration(limit)} idle`),
    ...(failFast ? ['no failures'] : of('maxFailures', (limit) => `${pluralise(limit, 'failure')} in a row`)),
    ...of('maxWaitMs', (limit) => `${duration(limit)} waiting for a usage limit`),
    ...of('maxStalled', (limit) => `${pluralise(limit, 'iteration')} in a row without changes`),
  ];
};

/** Describes when a run stops: the number of iterations, and each limit that was set. `defaults` are those that were not. */
export const stopsText = (
  { maxIterations, limits, failFast }: LimitedPlan,
  except: Except,
  defaults: Readonly<Partial<Limits>> = limits,
): string[] => {
  const of = (name: keyof Limits, words: (limit: number) => string): string[] =>
    limits[name] === Infinity ? [] : [words(limits[name])];
  const unlessDefault = (name: keyof Limits, words: (limit: number) => string, unlimited: string): string[] => {
    if (limits[name] === defaults[name]) return [];
    return [limits[name] === Infinity ? unlimited : words(limits[name])];
  };
  const inARow = (limit: number, noun: string) => `after ${pluralise(limit, noun)} in a row`;
  return [
    maxIterations === Infinity ? 'no iteration limit' : `after ${pluralise(maxIterations, 'iteration')}`,
    ...of('untilMs', (limit) => atTime(new Date(limit))),
    ...of('maxDurationMs', (limit) => `after ${duration(limit)} of running time`),
    ...of('maxCostUsd', (limit) => `at $${limit}${except('cost')}`),
    ...of('maxTokens', (limit) => `at ${grouped(limit)} tokens${except('tokens')}`),
    ...(failFast
      ? ['at the first failure']
      : unlessDefault('maxFailures', (limit) => inARow(limit, 'failure'), 'no failure limit')),
    ...unlessDefault('maxStalled', (limit) => `${inARow(limit, 'iteration')} without changes`, 'no stall limit'),
    ...unlessDefault(
      'iterationTimeoutMs',
      (limit) => `at most ${duration(limit)} per iteration`,
      'no limit per iteration',
    ),
    ...unlessDefault('idleTimeoutMs', (limit) => `at most ${duration(limit)} idle`, 'no idle limit'),
    ...unlessDefault(
      'maxWaitMs',
      (limit) => `after ${duration(limit)} of waiting for a usage limit`,
      'never for a usage limit',
    ),
  ];
};
