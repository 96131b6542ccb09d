import { isObject } from '../../text/shape.ts';
import type { Action, DangerousKind } from '../api.ts';
import { badRequest } from '../http/refusal.ts';

/*
 * Actions as they come from a page. Every field is checked by a pattern, and the action is rejected if one is unknown or
 * invalid: a limit that was dropped would start a run without it.
 */

const patterns = {
  change: /^[^-\s\p{Cc}][^\p{Cc}]{0,250}$/u,
  text: /\S/,
  prompt: /\S/,
  harness: /^\w[\w.-]{0,99}$/,
  model: /^\w[\w.:/@+-]{0,199}$/,
  maxDuration: /^\d{1,9}(?:ms|s|m|h|d)?$/,
  run: /^\d{8}-\d{6}-[\da-f]{4,32}$/,
  to: /^(?:\d{1,8}|r\d{1,8})$/,
} as const satisfies Record<string, RegExp>;

/** As long as an argument of a program may be, in bytes, with some room. */
const maxText = 100_000;

type Check = (value: unknown) => boolean;

const string =
  (name: keyof typeof patterns): Check =>
  (value) =>
    typeof value === 'string' &&
    Buffer.byteLength(value) <= maxText &&
    !value.includes('\0') &&
    patterns[name].test(value);
const flag: Check = (value) => typeof value === 'boolean';
const positive: Check = (value) => typeof value === 'number' && Number.isFinite(value) && value > 0 && value <= 1e9;
const wholePositive: Check = (value) => positive(value) && Number.isInteger(value);

interface Fields {
  readonly required: Readonly<Record<string, Check>>;
  readonly optional?: Readonly<Record<string, Check>>;
}

const change = string('change');

const kinds: Readonly<Record<Action['kind'], Fields>> = {
  'add-context': { required: { change, text: string('text') } },
  'clear-context': { required: { change } },
  'stop-after-iteration': { required: { change } },
  'stop-now': { required: { change } },
  pause: { required: { change } },
  resume: { required: { change } },
  start: {
    required: { change },
    optional: {
      prompt: string('prompt'),
      harness: string('harness'),
      model: string('model'),
      maxIterations: wholePositive,
      maxCostUsd: positive,
      maxDuration: string('maxDuration'),
      fresh: flag,
    },
  },
  rewind: { required: { change, to: string('to') }, optional: { run: string('run') } },
  land: { required: { change }, optional: { keepBranch: flag } },
};

/** Kinds that need a confirmed preview. */
const dangerous: Readonly<Record<DangerousKind, true>> = {
  'clear-context': true,
  'stop-now': true,
  start: true,
  rewind: true,
  land: true,
};

export const isDangerous = ({ kind }: Action): boolean => Object.hasOwn(dangerous, kind);

/** Returns the action in the body of a request; rejects anything else. */
export const readAction = (value: unknown): Action => {
  const kind = isObject(value) ? value.kind : undefined;
  if (!isObject(value) || typeof kind !== 'string' || !Object.hasOwn(kinds, kind))
    throw badRequest('There is no such action.');
  const { required, optional = {} } = kinds[kind as Action['kind']];
  for (const [name, check] of Object.entries(required))
    if (!check(value[name])) throw badRequest(`"${name}" is missing or not valid.`);
  for (const [name, given] of Object.entries(value)) {
    if (name === 'kind' || Object.hasOwn(required, name) || given === undefined) continue;
    const check = Object.hasOwn(optional, name) ? optional[name]! : null;
    if (check === null || !check(given)) throw badRequest(`"${name}" is not valid.`);
  }
  return value as unknown as Action;
};
