import type { ValueKind } from './values.ts';

/**
 * The flags of `spool ralph`, once. Parsing, `--help`, the keys of .spool/config.json and their schema,
 * and the SPOOL_* variables all derive from this table.
 */

export interface Flag {
  readonly kind: ValueKind;
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
    kind: 'agents',
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
  sandbox: {
    kind: 'switch',
    help: 'run the agent, --verify, the setup and commit hooks in a sandbox',
    from: 'flag, env, config',
  },
  sandboxAllow: {
    kind: 'names',
    value: '<host>',
    help: 'let the sandbox reach this host, such as registry.npmjs.org or "*.example.com"; several with commas',
    from: 'flag, env',
  },
  sandboxWrite: {
    kind: 'names',
    value: '<path>',
    help: 'let the sandbox write to this file or folder outside of the project; several with commas',
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
  until: {
    kind: 'clock',
    value: '<hh:mm>',
    help: 'stop at this local time, today or tomorrow, or "none"',
    from: 'flag, env',
  },
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
    help: 'believe a promise only when no task in the task file is open',
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

type ValueOf<K extends ValueKind> = K extends 'text' | 'name' | 'agents' | 'word' | 'clock'
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
