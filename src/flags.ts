/**
 * The flags of `spool ralph`, once. Parsing, `--help`, the keys of .spool/config.json and their schema,
 * and the SPOOL_* variables all derive from this table.
 */

/**
 * What a value must look like. A `name` cannot be taken for a flag. A `limit` is a count, a `span` a duration, `money`
 * an amount of dollars, each of them or the word "unlimited". `names` and
 * `commands` may be given more than once.
 */
export type Kind =
  | 'text'
  | 'name'
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

export interface Flag {
  readonly kind: Kind;
  /** The placeholder in the help, for flags that take a value. */
  readonly value?: string;
  readonly help: string;
  readonly aliases?: readonly string[];
  /** Switches only: on unless `--no-<name>` is given. */
  readonly on?: true;
  /** Written as the user would write it. */
  readonly fallback?: string;
  /**
   * Where else the value may come from. A project's config file is written by whoever wrote the project,
   * so what widens an agent's permissions is taken from the user's own hands only.
   */
  readonly from: 'flag' | 'flag, env' | 'flag, env, config';
}

export const flags = {
  change: {
    kind: 'names',
    value: '<id>',
    help: 'the change to work on: its id, or a prefix that only it has; several one after the other',
    from: 'flag, env',
  },
  module: { kind: 'name', value: '<id>', help: 'work on the changes of this module', from: 'flag, env' },
  all: { kind: 'switch', help: 'work on all active changes', from: 'flag' },
  parallel: {
    kind: 'count',
    value: '<n>',
    help: 'work on so many changes at the same time, each in a worktree',
    fallback: '1',
    from: 'flag, env, config',
  },
  interactive: { kind: 'switch', on: true, help: 'never ask; without --change that is an error', from: 'flag, env' },
  promptFile: { kind: 'text', value: '<path>', help: 'read the prompt from a file', from: 'flag' },
  harness: {
    kind: 'name',
    value: '<name>',
    help: 'the agent to run; several as "opencode:some/model,claude": the next one when one cannot work',
    fallback: 'opencode',
    from: 'flag, env, config',
  },
  model: {
    kind: 'name',
    value: '<model>',
    help: 'passed to the harness as it is, such as anthropic/claude-sonnet',
    from: 'flag, env, config',
  },
  allowAll: {
    kind: 'switch',
    aliases: ['yolo', 'dangerously-allow-all'],
    help: 'let the agent use every tool without asking',
    from: 'flag, env',
  },
  completionPromise: {
    kind: 'word',
    value: '<text>',
    help: 'the text that the agent puts into <promise>…</promise> when all is done',
    fallback: 'COMPLETE',
    from: 'flag, env, config',
  },
  minIterations: {
    kind: 'count',
    value: '<n>',
    help: 'a promise before iteration n does not end the loop',
    fallback: '1',
    from: 'flag, env, config',
  },
  maxIterations: {
    kind: 'limit',
    value: '<n>',
    help: 'stop after n iterations, or "unlimited"',
    fallback: '50',
    from: 'flag, env, config',
  },
  maxDuration: {
    kind: 'span',
    value: '<time>',
    help: 'stop after this time at work, such as 8h',
    fallback: 'unlimited',
    from: 'flag, env, config',
  },
  until: { kind: 'clock', value: '<hh:mm>', help: 'stop at this local time, today or tomorrow', from: 'flag, env' },
  maxCost: {
    kind: 'money',
    value: '<usd>',
    help: 'stop when this much is spent, as far as the agent says it',
    fallback: 'unlimited',
    from: 'flag, env, config',
  },
  maxTokens: {
    kind: 'limit',
    value: '<n>',
    help: 'stop when this many tokens are used, in and out, such as 500k or 2m',
    fallback: 'unlimited',
    from: 'flag, env, config',
  },
  iterationTimeout: {
    kind: 'span',
    value: '<time>',
    help: 'end an agent that works on one iteration for longer',
    fallback: '2h',
    from: 'flag, env, config',
  },
  idleTimeout: {
    kind: 'span',
    value: '<time>',
    help: 'end an agent that prints nothing for this long',
    fallback: '30m',
    from: 'flag, env, config',
  },
  maxFailures: {
    kind: 'limit',
    value: '<n>',
    help: 'stop when n iterations in a row have failed',
    fallback: '10',
    from: 'flag, env, config',
  },
  maxStalled: {
    kind: 'limit',
    value: '<n>',
    help: 'stop when n iterations in a row have changed nothing',
    fallback: '10',
    from: 'flag, env, config',
  },
  maxWait: {
    kind: 'span',
    value: '<time>',
    help: 'wait at most this long for a usage limit of the provider to end',
    fallback: '12h',
    from: 'flag, env, config',
  },
  verify: {
    kind: 'commands',
    value: '<command>',
    help: 'believe a promise only when this command passes; may be given more than once',
    from: 'flag, env, config',
  },
  verifyEach: {
    kind: 'switch',
    help: 'run the --verify commands after every iteration, promise or not',
    from: 'flag, env, config',
  },
  verifyTimeout: {
    kind: 'duration',
    value: '<time>',
    help: 'how long each --verify command may take',
    fallback: '10m',
    from: 'flag, env, config',
  },
  requireTasks: {
    kind: 'switch',
    help: 'believe a promise only when no task in tasks.md is open',
    from: 'flag, env, config',
  },
  allowTampering: {
    kind: 'switch',
    help: 'accept a promise although the agent changed its own tasks, proposal or gate',
    from: 'flag, env',
  },
  blockedPromise: {
    kind: 'word',
    value: '<text>',
    help: 'the text in <promise>…</promise> with which the agent gives up',
    fallback: 'BLOCKED',
    from: 'flag, env, config',
  },
  notify: {
    kind: 'text',
    value: '<command>',
    help: 'run this command when the run has ended; it gets the summary as JSON on stdin',
    from: 'flag, env, config',
  },
  failFast: { kind: 'switch', help: 'stop at the first iteration that fails', from: 'flag, env, config' },
  retryDelay: {
    kind: 'duration',
    value: '<time>',
    help: 'wait this long after a failed iteration, doubling up to a minute',
    fallback: '1s',
    from: 'flag, env, config',
  },
  commit: {
    kind: 'switch',
    on: true,
    help: 'do not commit what an iteration changed',
    from: 'flag, env, config',
  },
  worktree: {
    kind: 'switch',
    help: 'work in .spool/worktrees/<change>, on a branch of its own',
    from: 'flag, env',
  },
  branch: {
    kind: 'name',
    value: '<name>',
    help: 'work on this branch, which is made when there is none; ralph/<change> with --worktree',
    from: 'flag, env',
  },
  worktreeSetup: {
    kind: 'text',
    value: '<command>',
    help: 'run this command in a new worktree before the first iteration',
    from: 'flag, env, config',
  },
  commitMessage: {
    kind: 'text',
    value: '<text>',
    help: 'the message of a commit; {change}, {iteration}, {run} and {summary} are filled in',
    fallback: 'ralph({change}): iteration {iteration}\n\n{summary}\n\nSpool-Run: {run}',
    from: 'flag, env, config',
  },
  stream: {
    kind: 'switch',
    on: true,
    help: 'do not show the output of the agent while it works',
    from: 'flag, env, config',
  },
  verbose: {
    kind: 'switch',
    help: 'show more: what the agent thinks, and why a mention of the promise was not counted',
    from: 'flag, env, config',
  },
  stopGrace: {
    kind: 'duration',
    value: '<time>',
    help: 'how long an interrupted agent may take to end before it is killed',
    fallback: '5s',
    from: 'flag, env, config',
  },
  json: { kind: 'switch', help: 'print events (or the status) as JSON, one a line', from: 'flag, env' },
  fresh: { kind: 'switch', help: 'start a new run even if the last one was interrupted', from: 'flag' },
  status: { kind: 'switch', help: 'show the last run and its iterations, then exit', from: 'flag' },
  addContext: {
    kind: 'text',
    value: '<text>',
    help: 'add to the context that the next iterations are given, then exit',
    from: 'flag',
  },
  clearContext: { kind: 'switch', help: 'empty that context, then exit', from: 'flag' },
} as const satisfies Record<string, Flag>;

export type FlagName = keyof typeof flags;

type ValueOf<K extends Kind> = K extends 'text' | 'name' | 'word' | 'clock'
  ? string
  : K extends 'switch'
    ? boolean
    : K extends 'commands' | 'names'
      ? readonly string[]
      : number;

type OptionOf<F extends Flag> = F['kind'] extends 'switch' | 'commands' | 'names'
  ? ValueOf<F['kind']>
  : F extends { fallback: string }
    ? ValueOf<F['kind']>
    : ValueOf<F['kind']> | null;

/** All flags with their values. What was not given and has no default is null; "unlimited" is Infinity; durations are ms. */
export type Options = { readonly [Name in FlagName]: OptionOf<(typeof flags)[Name]> };

export type Value = string | number | boolean | readonly string[];

/** What a value of each kind must be, as it is said to a user. */
export const wanted: Record<Kind, string> = {
  text: 'takes some text',
  name: 'takes a name that does not start with "-"',
  word: 'takes one line of text without < and >',
  count: 'takes a whole number from 1 on',
  limit: 'takes a whole number from 1 on, or "unlimited"',
  money: 'takes an amount of dollars such as 5 or 2.50, or "unlimited"',
  duration: 'takes a time such as 500ms, 30s, 5m, 2h or 1d',
  span: 'takes a time such as 30s, 5m, 2h or 1d, or "unlimited"',
  clock: 'takes a time of day such as 07:00',
  names: 'takes a name that does not start with "-"',
  commands: 'takes a command, or a list of commands',
  switch: 'takes true or false',
};

/** Reads a value as it is typed. null when it is not of that kind. */
export const parseValue = (kind: Kind, raw: string): Value | null => {
  const text = raw.trim();
  switch (kind) {
    case 'text':
      return text === '' ? null : raw;
    case 'name':
      return text === '' || text.startsWith('-') || hasControls(text) ? null : text;
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
      return /^([01]?\d|2[0-3]):[0-5]\d$/.test(text) ? text : null;
    case 'names':
      return parseNames(text);
    case 'commands':
      return parseCommands(raw);
    case 'switch':
      return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : null;
  }
};

/** `maxIterations` → `--max-iterations`; a switch that is on by default is turned off with `--no-…`. */
export const flagOf = (name: FlagName): string => {
  const flag: Flag = flags[name];
  return `--${flag.on ? 'no-' : ''}${kebab(name)}`;
};

export const envOf = (name: FlagName): string => `SPOOL_${kebab(name).replaceAll('-', '_').toUpperCase()}`;

export const flagNames = Object.keys(flags) as FlagName[];

/** The flags that may stand in .spool/config.json. */
export const configKeys = flagNames.filter((name) => flags[name].from.includes('config'));

const kebab = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const hasControls = (text: string) => /[\u0000-\u001f\u007f]/.test(text);

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
