import type { Value, ValueKind } from './values.ts';

/**
 * The flags of `spool ralph`. Parsing, `--help`, the keys of .spool/config.json, its schema and the SPOOL_* variables are
 * all derived from this table.
 */

export interface Flag {
  readonly kind: ValueKind;
  /** What stands for the value in the help: `n` in `--max-iterations <n>`. Boolean flags have none. */
  readonly placeholder?: string;
  readonly help: string;
  readonly aliases?: readonly string[];
  /** As the user would type it. `true` is for boolean flags that are on unless `--no-<name>` is given. */
  readonly default?: string | true;
  /**
   * Where the value may come from. The author of a project writes its config file, so a setting that widens what an
   * agent may do is never read from there.
   */
  readonly sources: readonly Source[];
}

export type Source = 'flag' | 'env' | 'config';

export const flags = {
  change: {
    kind: 'names',
    placeholder: 'id',
    help: 'Change to work on: its ID or a unique prefix (repeatable)',
    sources: ['flag', 'env'],
  },
  module: { kind: 'name', placeholder: 'id', help: 'Work on the changes of this module', sources: ['flag', 'env'] },
  all: { kind: 'boolean', help: 'Work on all active changes', sources: ['flag'] },
  parallel: {
    kind: 'count',
    placeholder: 'n',
    help: 'Run up to n changes in parallel, each in its own worktree',
    default: '1',
    sources: ['flag', 'env', 'config'],
  },
  interactive: { kind: 'boolean', default: true, help: 'Never prompt', sources: ['flag', 'env'] },
  promptFile: { kind: 'text', placeholder: 'path', help: 'Read the prompt from a file', sources: ['flag'] },
  harness: {
    kind: 'agents',
    placeholder: 'name',
    help: 'Agent to run, or a fallback list such as "opencode:some/model,claude"',
    default: 'opencode',
    sources: ['flag', 'env', 'config'],
  },
  model: {
    kind: 'name',
    placeholder: 'model',
    help: 'Model name, passed to the agent unchanged, such as anthropic/claude-sonnet',
    sources: ['flag', 'env', 'config'],
  },
  allowAll: {
    kind: 'boolean',
    aliases: ['yolo', 'dangerously-allow-all'],
    help: 'Let the agent use every tool without asking',
    sources: ['flag', 'env'],
  },
  sandbox: {
    kind: 'boolean',
    help: 'Run the agent, --verify, the worktree setup and commit hooks in a sandbox',
    sources: ['flag', 'env', 'config'],
  },
  sandboxAllow: {
    kind: 'names',
    placeholder: 'host',
    help: 'Let the sandbox reach this host, such as registry.npmjs.org or "*.example.com" (repeatable)',
    sources: ['flag', 'env'],
  },
  sandboxWrite: {
    kind: 'names',
    placeholder: 'path',
    help: 'Let the sandbox write to this file or folder outside the project (repeatable)',
    sources: ['flag', 'env'],
  },
  completionPromise: {
    kind: 'line',
    placeholder: 'text',
    help: 'Text the agent prints in <promise>…</promise> when the change is done',
    default: 'COMPLETE',
    sources: ['flag', 'env', 'config'],
  },
  minIterations: {
    kind: 'count',
    placeholder: 'n',
    help: 'Run at least n iterations',
    default: '1',
    sources: ['flag', 'env', 'config'],
  },
  maxIterations: {
    kind: 'count-or-unlimited',
    placeholder: 'n',
    help: 'Stop after n iterations, or "unlimited"',
    default: '50',
    sources: ['flag', 'env', 'config'],
  },
  maxDuration: {
    kind: 'duration-or-unlimited',
    placeholder: 'time',
    help: 'Stop after this much running time, such as 8h',
    default: 'unlimited',
    sources: ['flag', 'env', 'config'],
  },
  until: {
    kind: 'time-of-day',
    placeholder: 'hh:mm',
    help: 'Stop at this local time, today or tomorrow, or "none"',
    sources: ['flag', 'env'],
  },
  maxCost: {
    kind: 'money-or-unlimited',
    placeholder: 'usd',
    help: 'Stop when this much is spent (needs an agent that reports cost)',
    default: 'unlimited',
    sources: ['flag', 'env', 'config'],
  },
  maxTokens: {
    kind: 'count-or-unlimited',
    placeholder: 'n',
    help: 'Stop when this many input and output tokens are used, such as 500k or 2m',
    default: 'unlimited',
    sources: ['flag', 'env', 'config'],
  },
  iterationTimeout: {
    kind: 'duration-or-unlimited',
    placeholder: 'time',
    help: 'Stop the agent if one iteration takes longer than this',
    default: '2h',
    sources: ['flag', 'env', 'config'],
  },
  idleTimeout: {
    kind: 'duration-or-unlimited',
    placeholder: 'time',
    help: 'Stop the agent after this long without output',
    default: '30m',
    sources: ['flag', 'env', 'config'],
  },
  maxFailures: {
    kind: 'count-or-unlimited',
    placeholder: 'n',
    help: 'Stop after n failed iterations in a row',
    default: '10',
    sources: ['flag', 'env', 'config'],
  },
  maxStalled: {
    kind: 'count-or-unlimited',
    placeholder: 'n',
    help: 'Stop after n iterations in a row without changes',
    default: '10',
    sources: ['flag', 'env', 'config'],
  },
  maxWait: {
    kind: 'duration-or-unlimited',
    placeholder: 'time',
    help: "Wait at most this long for the provider's usage limit to reset",
    default: '12h',
    sources: ['flag', 'env', 'config'],
  },
  verify: {
    kind: 'commands',
    placeholder: 'command',
    help: 'Accept the completion promise only if this command passes (repeatable)',
    sources: ['flag', 'env', 'config'],
  },
  verifyEach: {
    kind: 'boolean',
    help: 'Run the --verify commands after every iteration',
    sources: ['flag', 'env', 'config'],
  },
  verifyTimeout: {
    kind: 'duration',
    placeholder: 'time',
    help: 'Time limit for each --verify command',
    default: '10m',
    sources: ['flag', 'env', 'config'],
  },
  requireTasks: {
    kind: 'boolean',
    help: 'Accept the completion promise only if all tasks are done',
    sources: ['flag', 'env', 'config'],
  },
  allowTampering: {
    kind: 'boolean',
    help: 'Accept the completion promise even if the agent edited its tasks, proposal or checks',
    sources: ['flag', 'env'],
  },
  blockedPromise: {
    kind: 'line',
    placeholder: 'text',
    help: 'Text the agent prints in <promise>…</promise> to report that it is blocked',
    default: 'BLOCKED',
    sources: ['flag', 'env', 'config'],
  },
  notify: {
    kind: 'text',
    placeholder: 'command',
    help: 'Run this command when the run ends, with the summary as JSON on stdin',
    sources: ['flag', 'env', 'config'],
  },
  failFast: { kind: 'boolean', help: 'Stop at the first failed iteration', sources: ['flag', 'env', 'config'] },
  retryDelay: {
    kind: 'duration',
    placeholder: 'time',
    help: 'Wait this long after a failed iteration, doubling up to one minute',
    default: '1s',
    sources: ['flag', 'env', 'config'],
  },
  commit: {
    kind: 'boolean',
    default: true,
    help: 'Do not commit after each iteration',
    sources: ['flag', 'env', 'config'],
  },
  worktree: {
    kind: 'boolean',
    help: 'Work in .spool/worktrees/<change> on a separate branch',
    sources: ['flag', 'env'],
  },
  branch: {
    kind: 'name',
    placeholder: 'name',
    help: 'Branch to work on, created if missing (with --worktree the default is ralph/<change>)',
    sources: ['flag', 'env'],
  },
  worktreeSetup: {
    kind: 'text',
    placeholder: 'command',
    help: 'Run this command in a new worktree before the first iteration',
    sources: ['flag', 'env', 'config'],
  },
  commitMessage: {
    kind: 'text',
    placeholder: 'text',
    help: 'Commit message; {change}, {iteration}, {run} and {summary} are filled in',
    default: 'ralph({change}): iteration {iteration}\n\n{summary}\n\nSpool-Run: {run}',
    sources: ['flag', 'env', 'config'],
  },
  stream: {
    kind: 'boolean',
    default: true,
    help: "Do not show the agent's output while it is working",
    sources: ['flag', 'env', 'config'],
  },
  verbose: {
    kind: 'boolean',
    help: 'Also show reasoning, and why a mention of the promise was ignored',
    sources: ['flag', 'env', 'config'],
  },
  stopGrace: {
    kind: 'duration',
    placeholder: 'time',
    help: 'Grace period before an interrupted agent is killed',
    default: '5s',
    sources: ['flag', 'env', 'config'],
  },
  json: {
    kind: 'boolean',
    help: 'Output newline-delimited JSON: the events of the run, or with --status the status',
    sources: ['flag', 'env'],
  },
  fresh: { kind: 'boolean', help: 'Start a new run even if the last one was interrupted', sources: ['flag'] },
  status: { kind: 'boolean', help: 'Show the last run and its iterations, then exit', sources: ['flag'] },
  addContext: {
    kind: 'text',
    placeholder: 'text',
    help: 'Add text to the context of the next iterations, then exit',
    sources: ['flag'],
  },
  clearContext: { kind: 'boolean', help: 'Clear the added context, then exit', sources: ['flag'] },
} as const satisfies Record<string, Flag>;

export type FlagName = keyof typeof flags;

type ValueOf<K extends ValueKind> = K extends 'text' | 'name' | 'agents' | 'line' | 'time-of-day'
  ? string
  : K extends 'boolean'
    ? boolean
    : K extends 'commands' | 'names'
      ? readonly string[]
      : number;

type OptionOf<F extends Flag> = F['kind'] extends 'boolean' | 'commands' | 'names'
  ? ValueOf<F['kind']>
  : F extends { default: string }
    ? ValueOf<F['kind']>
    : ValueOf<F['kind']> | null;

/** The value of every flag: null if it was not given and has no default, Infinity for "unlimited", durations in ms. */
export type Options = { readonly [Name in FlagName]: OptionOf<(typeof flags)[Name]> };

/** `maxIterations` → `--max-iterations`, `commit` → `--no-commit`. */
export const flagOf = (name: FlagName): string => optionFlag({ name, negated: isNegated(flags[name]) });

export const envOf = (name: FlagName): string => `SPOOL_${kebabCase(name).replaceAll('-', '_').toUpperCase()}`;

/** How an option is typed. */
export const optionFlag = ({ name, negated }: { readonly name: string; readonly negated?: boolean }): string =>
  `--${negated ? 'no-' : ''}${kebabCase(name)}`;

/** The flag turns off what is on by default. */
export const isNegated = (flag: Flag): boolean => flag.default === true;

/** The flag may be given several times. */
export const isRepeatable = ({ kind }: Pick<Flag, 'kind'>): boolean => kind === 'commands' || kind === 'names';

export const flagNames = Object.keys(flags) as FlagName[];

export const canComeFrom = (source: Source, name: FlagName): boolean => (flags[name] as Flag).sources.includes(source);

/** The flags that can be set in .spool/config.json. */
export const configKeys = flagNames.filter((name) => canComeFrom('config', name));

const kebabCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Parsed values by the name of their flag. */
export type FlagValues = Readonly<Partial<Record<FlagName, Value>>>;

/** Values as config.json has them. */
export type FileSettings = Readonly<Partial<Record<FlagName, unknown>>>;
