/**
 * The flags of `spool ralph`, once. Parsing, `--help`, the keys of .spool/config.json and their schema,
 * and the SPOOL_* variables all derive from this table.
 */

/** What a value must look like. A `name` cannot be taken for a flag; a `limit` is a count or the word "unlimited". */
export type Kind = 'text' | 'name' | 'word' | 'count' | 'limit' | 'duration' | 'switch';

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
    kind: 'name',
    value: '<id>',
    help: 'the change to work on: its id, or a prefix that only it has',
    from: 'flag, env',
  },
  module: { kind: 'name', value: '<id>', help: 'choose among the changes of this module', from: 'flag, env' },
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

type ValueOf<K extends Kind> = K extends 'text' | 'name' | 'word' ? string : K extends 'switch' ? boolean : number;

type OptionOf<F extends Flag> = F['kind'] extends 'switch'
  ? boolean
  : F extends { fallback: string }
    ? ValueOf<F['kind']>
    : ValueOf<F['kind']> | null;

/** All flags with their values. What was not given and has no default is null; "unlimited" is Infinity; durations are ms. */
export type Options = { readonly [Name in FlagName]: OptionOf<(typeof flags)[Name]> };

export type Value = string | number | boolean;

/** What a value of each kind must be, as it is said to a user. */
export const wanted: Record<Kind, string> = {
  text: 'takes some text',
  name: 'takes a name that does not start with "-"',
  word: 'takes one line of text without < and >',
  count: 'takes a whole number from 1 on',
  limit: 'takes a whole number from 1 on, or "unlimited"',
  duration: 'takes a time such as 500ms, 30s, 5m or 2h',
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
    case 'duration':
      return parseDuration(text);
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

const parseCount = (text: string): number | null => {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  return count >= 1 && Number.isSafeInteger(count) ? count : null;
};

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

const parseDuration = (text: string): number | null => {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
  return match ? Math.round(Number(match[1]) * units[match[2] as keyof typeof units]) : null;
};
