import { hasControls, isName, nameRule } from '../text/names.ts';

/**
 * What a value must look like. A `name` cannot be taken for a flag, and neither can the parts of `agents`, which are
 * names with a model each. A `limit` is a count, a `span` a duration, `money`
 * an amount of dollars, each of them or the word "unlimited". A `clock` is a time of day or the word "none". `names` and
 * `commands` may be given more than once.
 */
export type ValueKind =
  | 'text'
  | 'name'
  | 'agents'
  | 'word'
  | 'count'
  | 'limit'
  | 'money'
  | 'duration'
  | 'span'
  | 'clock'
  | 'names'
  | 'commands'
  | 'switch';

export type Value = string | number | boolean | readonly string[];

/** The `clock` that never comes. */
export const noTime = 'none';

/** What a value of each kind must be, as it is said to a user. */
export const expects: Record<ValueKind, string> = {
  text: 'takes some text',
  name: nameRule,
  agents: 'takes names such as "opencode:some/model,claude", none of which starts with "-"',
  word: 'takes one line of text without < and >',
  count: 'takes a whole number from 1 on',
  limit: 'takes a whole number from 1 on, or "unlimited"',
  money: 'takes an amount of dollars such as 5 or 2.50, or "unlimited"',
  duration: 'takes a time such as 500ms, 30s, 5m, 2h or 1d',
  span: 'takes a time such as 30s, 5m, 2h or 1d, or "unlimited"',
  clock: 'takes a time of day such as 07:00, or "none"',
  names: nameRule,
  commands: 'takes a command, or a list of commands',
  switch: 'takes true or false',
};

/** Reads a value as it is typed. null when it is not of that kind. */
export const parseValue = (kind: ValueKind, raw: string): Value | null => {
  const text = raw.trim();
  switch (kind) {
    case 'text':
      return text === '' ? null : raw;
    case 'name':
      return isName(text) ? text : null;
    case 'agents':
      return isAgents(text) ? text : null;
    case 'word':
      return text === '' || /[<>]/.test(text) || hasControls(text) ? null : text;
    case 'count':
      return parseCount(text);
    case 'limit':
      return text === 'unlimited' ? Infinity : parseCount(text);
    case 'money':
      return text === 'unlimited' ? Infinity : parseMoney(text);
    case 'duration':
      return parseDuration(text);
    case 'span':
      return text === 'unlimited' ? Infinity : parseDuration(text);
    case 'clock':
      return text === noTime || /^([01]?\d|2[0-3]):[0-5]\d$/.test(text) ? text : null;
    case 'names':
      return parseNames(text);
    case 'commands':
      return parseCommands(raw);
    case 'switch':
      return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : null;
  }
};

const isAgents = (text: string): boolean =>
  text.split(',').every((part) => {
    const [name = '', ...model] = part.trim().split(':');
    return isName(name) && (model.join(':') === '' || isName(model.join(':')));
  });

const thousands = { '': 1, k: 1000, m: 1_000_000 } as const;

const parseCount = (text: string): number | null => {
  const match = /^(\d+(?:\.\d+)?)([km]?)$/i.exec(text);
  const count = match ? Number(match[1]) * thousands[match[2]!.toLowerCase() as keyof typeof thousands] : 0;
  const whole = Math.round(count);
  return whole >= 1 && Math.abs(count - whole) < 1e-6 && Number.isSafeInteger(whole) ? whole : null;
};

const parseMoney = (text: string): number | null => {
  const amount = /^\$?(\d+(?:\.\d+)?)$/.exec(text)?.[1];
  return amount === undefined || Number(amount) === 0 ? null : Number(amount);
};

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Ten years: no date goes wrong with it. */
const longestMs = 3650 * units.d;

const parseDuration = (text: string): number | null => {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text);
  const ms = match ? Math.round(Number(match[1]) * units[match[2] as keyof typeof units]) : null;
  return ms === null || ms > longestMs ? null : ms;
};

const parseNames = (text: string): string[] | null => {
  const names = text.split(',').map((name) => name.trim());
  return names.every((name) => parseValue('name', name) !== null) ? names : null;
};

/** One a line, as a variable or a list in the config file has them. */
const parseCommands = (text: string): string[] | null => {
  const commands = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return commands.length > 0 && commands.every((command) => !hasControls(command)) ? commands : null;
};
