import { notifyKinds, parseTarget } from './notify-targets.ts';
import { agentModes } from '../harness/agent-mode.ts';
import { hasControls, hasNul, isName, nameRule } from '../text/names.ts';

/**
 * The form of a value. A `name` cannot be mistaken for a flag, and neither can the parts of `agents`: names, each with
 * an optional model. `money` is in dollars. A `time-of-day` may also be the word "none". `names`, `events`, `commands`,
 * `notifications` and `rules`, of permissions, are lists.
 */
export type ValueKind =
  | 'text'
  | 'line'
  | 'name'
  | 'names'
  | 'events'
  | 'agents'
  | 'ladder'
  | 'commands'
  | 'notifications'
  | 'rules'
  | 'count'
  | 'count-or-unlimited'
  | 'money-or-unlimited'
  | 'duration'
  | 'duration-or-unlimited'
  | 'duration-above-zero'
  | 'duration-above-zero-or-unlimited'
  | 'time-of-day'
  | 'agent-mode'
  | 'boolean';

export type Value = string | number | boolean | readonly string[];

/** The `time-of-day` that stands for no time at all. */
export const noTime = 'none';

/** What a value of each kind must be, for error messages. */
export const expects: Record<ValueKind, string> = {
  text: 'must be some text without NUL characters',
  line: 'must be one line of text without < and >',
  name: nameRule,
  names: nameRule,
  events: `must be some of ${notifyKinds.join(', ')}`,
  agents: 'must be a list of names such as "opencode:some/model,claude", none of which starts with "-"',
  ladder: 'must be a list of at least two different agents, such as "claude:haiku,claude:opus"',
  commands: 'must be a command or a list of commands',
  notifications: 'must be a command, desktop, bell, an http or https address, ntfy:<topic> or slack:<address>',
  rules: 'must be permission rules such as Bash(npm test:*) or Edit(src/**)',
  count: 'must be a positive whole number',
  'count-or-unlimited': 'must be a positive whole number or "unlimited"',
  'money-or-unlimited': 'must be an amount in dollars such as 5 or 2.50, or "unlimited"',
  duration: 'must be a duration such as 500ms, 30s, 5m, 2h or 1d',
  'duration-or-unlimited': 'must be a duration such as 30s, 5m, 2h or 1d, or "unlimited"',
  'duration-above-zero': 'must be a duration above zero, such as 30s, 5m, 2h or 1d',
  'duration-above-zero-or-unlimited': 'must be a duration above zero, such as 30s, 5m, 2h or 1d, or "unlimited"',
  'time-of-day': 'must be a time of day such as 07:00, or "none"',
  'agent-mode': `must be ${agentModes.slice(0, -1).join(', ')} or ${agentModes.at(-1)}`,
  boolean: 'must be true or false',
};

/** Parses a value as the user types it. Returns null if it is not of that kind. */
export const parseValue = (kind: ValueKind, raw: string): Value | null => {
  const text = raw.trim();
  switch (kind) {
    case 'text':
      return text === '' || hasNul(raw) ? null : raw;
    case 'name':
      return isName(text) ? text : null;
    case 'agents':
      return isAgents(text) ? text : null;
    case 'ladder':
      return isAgents(text) && isLadder(text) ? text : null;
    case 'line':
      return text === '' || /[<>]/.test(text) || hasControls(text) ? null : text;
    case 'count':
      return parseCount(text);
    case 'count-or-unlimited':
      return text === 'unlimited' ? Infinity : parseCount(text);
    case 'money-or-unlimited':
      return text === 'unlimited' ? Infinity : parseMoney(text);
    case 'duration':
      return parseDuration(text);
    case 'duration-or-unlimited':
      return text === 'unlimited' ? Infinity : parseDuration(text);
    case 'duration-above-zero':
      return parseDuration(text) || null;
    case 'duration-above-zero-or-unlimited':
      return text === 'unlimited' ? Infinity : parseDuration(text) || null;
    case 'time-of-day':
      return text === noTime || /^([01]?\d|2[0-3]):[0-5]\d$/.test(text) ? text : null;
    case 'agent-mode':
      return agentModes.find((mode) => mode === text) ?? null;
    case 'names':
      return parseNames(text);
    case 'events':
      return parseEvents(text);
    // Which rules there are is known elsewhere, and loaded only if some are given.
    case 'rules':
    case 'commands':
      return parseCommands(raw);
    case 'notifications':
      return parseTargets(raw);
    case 'boolean':
      return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : null;
  }
};

const isAgents = (text: string): boolean =>
  text.split(',').every((part) => {
    const [name = '', ...model] = part.trim().split(':');
    return isName(name) && (model.join(':') === '' || isName(model.join(':')));
  });

/** At least two agents, none of them twice. */
const isLadder = (text: string): boolean => {
  const rungs = text.split(',').map((part) => part.trim());
  return rungs.length > 1 && new Set(rungs).size === rungs.length;
};

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

/** Ten years: adding it to the current time gives a valid date. */
const maxMs = 3650 * units.d;

const parseDuration = (text: string): number | null => {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text);
  const ms = match ? Math.round(Number(match[1]) * units[match[2] as keyof typeof units]) : null;
  return ms === null || ms > maxMs ? null : ms;
};

const parseNames = (text: string): string[] | null => {
  const names = text.split(',').map((name) => name.trim());
  return names.every((name) => parseValue('name', name) !== null) ? names : null;
};

const parseEvents = (text: string): string[] | null => {
  const names = parseNames(text);
  return names?.every((name) => notifyKinds.some((kind) => kind === name)) ? names : null;
};

/** The kinds that may also be a number in a file. */
export const isNumeric = (kind: ValueKind): boolean =>
  kind === 'count' || kind === 'count-or-unlimited' || kind === 'money-or-unlimited';

/** Returns whether a text can be an item of a list: `commands`, `notifications` or `rules`. */
export const isItem = (kind: ValueKind, text: string): boolean => {
  if (kind === 'rules') return parseCommands(text)?.length === 1;
  return kind === 'notifications' ? parseTarget(text) !== null : text.trim() !== '' && !hasNul(text);
};

/** One command per line, as in an environment variable. */
const parseCommands = (text: string): string[] | null => {
  const commands = linesOf(text);
  return commands.length > 0 && commands.every((command) => !hasControls(command)) ? commands : null;
};

const parseTargets = (text: string): string[] | null => {
  const targets = linesOf(text);
  return targets.length > 0 && targets.every((target) => parseTarget(target) !== null) ? targets : null;
};

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
