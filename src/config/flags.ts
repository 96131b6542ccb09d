import { type AgentMode, agentModes } from '../harness/agent-mode.ts';
import { defaultBlockedPromise, defaultCompletionPromise, defaultHarness } from '../ralph/defaults.ts';
import { notifyKinds } from './notify-targets.ts';
import type { Value, ValueKind } from './values.ts';

/**
 * The flags of `spool ralph`. Parsing, `--help`, the keys of .spool/config.json, its schema and the SPOOL_* variables
 * are all derived from this table.
 */

export interface Flag {
  readonly kind: ValueKind;
  /** What stands for the value in the help: `n` in `--max-iterations <n>`. Boolean flags have none. */
  readonly placeholder?: string;
  readonly help: string;
  /** Where the help lists it. */
  readonly heading: FlagHeading;
  /** One of the few that the short help describes. */
  readonly isEveryday?: true;
  /** What the shell completes its value with. */
  readonly suggest?: Suggestions;
  readonly aliases?: readonly string[];
  /** As the user would type it. `true` is for boolean flags that are on unless `--no-<name>` is given. */
  readonly default?: string | true;
  /**
   * Where the value may come from. The author of a project writes its config file, so a setting that widens what an
   * agent may do is never read from there.
   */
  readonly sources: readonly Source[];
}

/** In the order of the help. */
export const flagHeadings = [
  'What to run',
  'Agent',
  'Sandbox',
  'When it is done',
  'When to stop',
  'Timeouts and retries',
  'Git',
  'Output',
  'Other actions',
] as const;

export type FlagHeading = (typeof flagHeadings)[number];

/** Words, or what to look up when the user presses Tab. */
export type Suggestions =
  'changes' | 'modules' | 'changes and modules' | 'sources' | 'agents' | 'files' | 'keys' | readonly string[];

export type Source = 'flag' | 'env' | 'config';

export const flags = {
  change: {
    kind: 'names',
    heading: 'What to run',
    isEveryday: true,
    suggest: 'changes',
    placeholder: 'id',
    help: 'Change to work on: its ID or a unique prefix (repeatable)',
    sources: ['flag', 'env'],
  },
  module: {
    kind: 'name',
    heading: 'What to run',
    suggest: 'modules',
    placeholder: 'id',
    help: 'Work on the changes of this module',
    sources: ['flag', 'env'],
  },
  source: {
    kind: 'name',
    heading: 'What to run',
    suggest: 'sources',
    placeholder: 'name',
    help: 'Where the change is from, if several sources have one with the same ID',
    sources: ['flag', 'env'],
  },
  file: {
    kind: 'text',
    heading: 'What to run',
    suggest: 'files',
    placeholder: 'path',
    help: 'Task file to work on, such as TODO.md or docs/plans/login.md',
    sources: ['flag'],
  },
  all: { kind: 'boolean', heading: 'What to run', help: 'Work on all active changes', sources: ['flag'] },
  new: {
    kind: 'boolean',
    heading: 'What to run',
    help: 'Create a change from the prompt and work on it',
    sources: ['flag'],
  },
  parallel: {
    kind: 'count',
    heading: 'What to run',
    placeholder: 'n',
    help: 'Run up to n changes in parallel, each in its own worktree',
    default: '1',
    sources: ['flag', 'env', 'config'],
  },
  interactive: { kind: 'boolean', heading: 'Output', default: true, help: 'Never prompt', sources: ['flag', 'env'] },
  promptFile: {
    kind: 'text',
    heading: 'What to run',
    suggest: 'files',
    placeholder: 'path',
    help: 'Read the prompt from a file',
    sources: ['flag'],
  },
  harness: {
    kind: 'agents',
    heading: 'Agent',
    isEveryday: true,
    suggest: 'agents',
    placeholder: 'name',
    aliases: ['agent'],
    help: 'Agent to run, or a fallback list such as "opencode:some/model,claude"',
    default: defaultHarness,
    sources: ['flag', 'env', 'config'],
  },
  model: {
    kind: 'name',
    heading: 'Agent',
    isEveryday: true,
    placeholder: 'model',
    help: 'Model name, passed to the agent unchanged, such as anthropic/claude-sonnet',
    sources: ['flag', 'env', 'config'],
  },
  agentMode: {
    kind: 'agent-mode',
    heading: 'Agent',
    suggest: agentModes,
    placeholder: 'mode',
    help: 'Start the agent for each iteration (cold), ahead of it (standby), or keep it running (warm)',
    sources: ['flag', 'env', 'config'],
  },
  escalate: {
    kind: 'ladder',
    heading: 'Agent',
    suggest: 'agents',
    placeholder: 'names',
    help: 'Start with the first of these agents, and switch to the next after two setbacks: "claude:haiku,claude:opus"',
    sources: ['flag', 'env', 'config'],
  },
  handover: {
    kind: 'boolean',
    heading: 'Agent',
    default: true,
    help: 'Do not pass handover notes from one iteration to the next',
    sources: ['flag', 'env', 'config'],
  },
  allowAll: {
    kind: 'boolean',
    heading: 'Agent',
    isEveryday: true,
    aliases: ['yolo', 'dangerously-allow-all'],
    help: 'Let the agent use every tool without asking',
    sources: ['flag', 'env'],
  },
  allow: {
    kind: 'rules',
    heading: 'Agent',
    placeholder: 'rule',
    help: 'Let the agent do this without asking, such as "Bash(npm test:*)" or "Edit(src/**)" (repeatable)',
    sources: ['flag', 'env'],
  },
  deny: {
    kind: 'rules',
    heading: 'Agent',
    placeholder: 'rule',
    help: 'Never let the agent do this, such as "Bash(git push:*)", even with --allow-all (repeatable)',
    sources: ['flag', 'env'],
  },
  sandbox: {
    kind: 'boolean',
    heading: 'Sandbox',
    help: 'Run the agent, --verify, the worktree setup and commit hooks in a sandbox',
    sources: ['flag', 'env', 'config'],
  },
  sandboxAllow: {
    kind: 'names',
    heading: 'Sandbox',
    placeholder: 'host',
    help: 'Let the sandbox reach this host, such as registry.npmjs.org or "*.example.com" (repeatable)',
    sources: ['flag', 'env'],
  },
  sandboxWrite: {
    kind: 'names',
    heading: 'Sandbox',
    suggest: 'files',
    placeholder: 'path',
    help: 'Let the sandbox write to this file or folder outside the project (repeatable)',
    sources: ['flag', 'env'],
  },
  completionPromise: {
    kind: 'line',
    heading: 'When it is done',
    placeholder: 'text',
    help: 'Text the agent prints in <promise>…</promise> when the change is done',
    default: defaultCompletionPromise,
    sources: ['flag', 'env', 'config'],
  },
  minIterations: {
    kind: 'count',
    heading: 'When it is done',
    placeholder: 'n',
    help: 'Run at least n iterations',
    default: '1',
    sources: ['flag', 'env', 'config'],
  },
  maxIterations: {
    kind: 'count-or-unlimited',
    heading: 'When to stop',
    isEveryday: true,
    suggest: ['unlimited'],
    placeholder: 'n',
    help: 'Stop after n iterations, or "unlimited"',
    default: '50',
    sources: ['flag', 'env', 'config'],
  },
  maxDuration: {
    kind: 'duration-or-unlimited',
    heading: 'When to stop',
    suggest: ['unlimited'],
    placeholder: 'time',
    help: 'Stop after this much running time, such as 8h',
    default: 'unlimited',
    sources: ['flag', 'env', 'config'],
  },
  until: {
    kind: 'time-of-day',
    heading: 'When to stop',
    isEveryday: true,
    suggest: ['none'],
    placeholder: 'hh:mm',
    help: 'Stop at this local time, today or tomorrow, or "none"',
    sources: ['flag', 'env'],
  },
  maxCost: {
    kind: 'money-or-unlimited',
    heading: 'When to stop',
    isEveryday: true,
    suggest: ['unlimited'],
    placeholder: 'usd',
    help: 'Stop when this much is spent (needs an agent that reports cost)',
    default: 'unlimited',
    sources: ['flag', 'env', 'config'],
  },
  maxTokens: {
    kind: 'count-or-unlimited',
    heading: 'When to stop',
    suggest: ['unlimited'],
    placeholder: 'n',
    help: 'Stop when this many input and output tokens are used, such as 500k or 2m',
    default: 'unlimited',
    sources: ['flag', 'env', 'config'],
  },
  iterationTimeout: {
    kind: 'duration-above-zero-or-unlimited',
    heading: 'Timeouts and retries',
    suggest: ['unlimited'],
    placeholder: 'time',
    help: 'Stop the agent if one iteration takes longer than this',
    default: '2h',
    sources: ['flag', 'env', 'config'],
  },
  idleTimeout: {
    kind: 'duration-above-zero-or-unlimited',
    heading: 'Timeouts and retries',
    suggest: ['unlimited'],
    placeholder: 'time',
    help: 'Stop the agent after this long without output',
    default: '30m',
    sources: ['flag', 'env', 'config'],
  },
  maxFailures: {
    kind: 'count-or-unlimited',
    heading: 'When to stop',
    suggest: ['unlimited'],
    placeholder: 'n',
    help: 'Stop after n failed iterations in a row',
    default: '10',
    sources: ['flag', 'env', 'config'],
  },
  maxStalled: {
    kind: 'count-or-unlimited',
    heading: 'When to stop',
    suggest: ['unlimited'],
    placeholder: 'n',
    help: 'Stop after n iterations in a row without changes',
    default: '10',
    sources: ['flag', 'env', 'config'],
  },
  maxWait: {
    kind: 'duration-or-unlimited',
    heading: 'Timeouts and retries',
    suggest: ['unlimited'],
    placeholder: 'time',
    help: "Wait at most this long for the provider's usage limit to reset",
    default: '12h',
    sources: ['flag', 'env', 'config'],
  },
  verify: {
    kind: 'commands',
    heading: 'When it is done',
    isEveryday: true,
    placeholder: 'command',
    help: 'Accept the completion promise only if this command passes (repeatable)',
    sources: ['flag', 'env', 'config'],
  },
  verifyEach: {
    kind: 'boolean',
    heading: 'When it is done',
    help: 'Run the --verify commands after every iteration',
    sources: ['flag', 'env', 'config'],
  },
  verifyTimeout: {
    kind: 'duration-above-zero',
    heading: 'When it is done',
    placeholder: 'time',
    help: 'Time limit for each --verify command',
    default: '10m',
    sources: ['flag', 'env', 'config'],
  },
  requireTasks: {
    kind: 'boolean',
    heading: 'When it is done',
    help: 'Accept the completion promise only if all tasks are done',
    sources: ['flag', 'env', 'config'],
  },
  requireScenarios: {
    kind: 'boolean',
    heading: 'When it is done',
    help: 'Accept the completion promise only if every scenario is proven by a test or command',
    sources: ['flag', 'env', 'config'],
  },
  redFirst: {
    kind: 'boolean',
    heading: 'When it is done',
    help: 'Also require that what proves a scenario fails without the change (implies --require-scenarios)',
    sources: ['flag', 'env', 'config'],
  },
  report: {
    kind: 'names',
    heading: 'When it is done',
    placeholder: 'glob',
    help: 'Read test results from these files if a --verify command writes them, such as "reports/*.xml" (repeatable)',
    sources: ['flag', 'env', 'config'],
  },
  allowTampering: {
    kind: 'boolean',
    heading: 'When it is done',
    help: 'Accept the completion promise even if the agent edited its tasks, proposal or checks',
    sources: ['flag', 'env'],
  },
  review: {
    kind: 'name',
    heading: 'When it is done',
    suggest: 'agents',
    placeholder: 'agent',
    help: 'Accept the completion promise only if this agent, such as "codex:some-model", passes the work',
    sources: ['flag', 'env', 'config'],
  },
  maxReviews: {
    kind: 'count',
    heading: 'When to stop',
    placeholder: 'n',
    help: 'Stop after n reviews that did not pass',
    default: '3',
    sources: ['flag', 'env', 'config'],
  },
  reviewPrompt: {
    kind: 'text',
    heading: 'When it is done',
    placeholder: 'text',
    help: 'What else the reviewer should look for',
    sources: ['flag', 'env', 'config'],
  },
  reviewAllowAll: {
    kind: 'boolean',
    heading: 'When it is done',
    help: 'Let the reviewer use every tool without asking',
    sources: ['flag', 'env'],
  },
  blockedPromise: {
    kind: 'line',
    heading: 'When it is done',
    placeholder: 'text',
    help: 'Text the agent prints in <promise>…</promise> to report that it is blocked',
    default: defaultBlockedPromise,
    sources: ['flag', 'env', 'config'],
  },
  notify: {
    kind: 'notifications',
    heading: 'Output',
    isEveryday: true,
    suggest: ['desktop', 'bell', 'ntfy:', 'slack:https://'],
    placeholder: 'target',
    help: 'Notify by a command, desktop, bell, a URL, ntfy:<topic> or slack:<url> (repeatable)',
    sources: ['flag', 'env', 'config'],
  },
  notifyOn: {
    kind: 'events',
    heading: 'Output',
    suggest: notifyKinds,
    placeholder: 'kinds',
    help: `Notify only of these: ${notifyKinds.join(', ')} (default: all)`,
    sources: ['flag', 'env', 'config'],
  },
  failFast: {
    kind: 'boolean',
    heading: 'When to stop',
    help: 'Stop at the first failed iteration',
    sources: ['flag', 'env', 'config'],
  },
  retryDelay: {
    kind: 'duration',
    heading: 'Timeouts and retries',
    placeholder: 'time',
    help: 'Wait this long after a failed iteration, doubling up to one minute',
    default: '1s',
    sources: ['flag', 'env', 'config'],
  },
  commit: {
    kind: 'boolean',
    heading: 'Git',
    default: true,
    help: 'Do not commit after each iteration',
    sources: ['flag', 'env', 'config'],
  },
  worktree: {
    kind: 'boolean',
    heading: 'Git',
    isEveryday: true,
    help: 'Work in .spool/worktrees/<change> on a separate branch',
    sources: ['flag', 'env'],
  },
  branch: {
    kind: 'name',
    heading: 'Git',
    placeholder: 'name',
    help: 'Branch to work on, created if missing (with --worktree the default is ralph/<change>)',
    sources: ['flag', 'env'],
  },
  worktreeSetup: {
    kind: 'text',
    heading: 'Git',
    placeholder: 'command',
    help: 'Run this command in a new worktree before the first iteration',
    sources: ['flag', 'env', 'config'],
  },
  commitMessage: {
    kind: 'text',
    heading: 'Git',
    placeholder: 'text',
    help: 'Commit message; {id}, {change}, {title}, {subject}, {tasks}, {summary}, {iteration} and {run} are filled in',
    default:
      'ralph({id}): {subject}\n\n{summary}\n\nSpool-Change: {change}\nSpool-Iteration: {iteration}\nSpool-Run: {run}',
    sources: ['flag', 'env', 'config'],
  },
  stream: {
    kind: 'boolean',
    heading: 'Output',
    default: true,
    help: "Do not show the agent's output while it is working",
    sources: ['flag', 'env', 'config'],
  },
  verbose: {
    kind: 'boolean',
    heading: 'Output',
    help: 'Also show reasoning, all settings, and why a mention of the promise was ignored',
    sources: ['flag', 'env', 'config'],
  },
  stopGrace: {
    kind: 'duration',
    heading: 'Timeouts and retries',
    placeholder: 'time',
    help: 'Grace period before an interrupted agent is killed',
    default: '5s',
    sources: ['flag', 'env', 'config'],
  },
  json: {
    kind: 'boolean',
    heading: 'Output',
    help: 'Output newline-delimited JSON: the events of the run, or with --status the status',
    sources: ['flag', 'env'],
  },
  detach: {
    kind: 'boolean',
    heading: 'Output',
    help: 'Run in the background, and return when the run has started',
    sources: ['flag'],
  },
  fresh: {
    kind: 'boolean',
    heading: 'What to run',
    help: 'Start a new run even if the last one was interrupted',
    sources: ['flag'],
  },
  resume: {
    kind: 'boolean',
    heading: 'What to run',
    help: 'Use the settings of the last run, except permissions (default: the last interrupted run)',
    sources: ['flag'],
  },
  status: {
    kind: 'boolean',
    heading: 'Other actions',
    help: 'Show the last run and its iterations, then exit',
    sources: ['flag'],
  },
  addContext: {
    kind: 'text',
    heading: 'Other actions',
    placeholder: 'text',
    help: 'Add text to the context of the next iterations, then exit',
    sources: ['flag'],
  },
  clearContext: {
    kind: 'boolean',
    heading: 'Other actions',
    help: 'Clear the added context, then exit',
    sources: ['flag'],
  },
} as const satisfies Record<string, Flag>;

export type FlagName = keyof typeof flags;

type ValueOf<K extends ValueKind> = K extends 'text' | 'name' | 'agents' | 'ladder' | 'line' | 'time-of-day'
  ? string
  : K extends 'agent-mode'
    ? AgentMode
    : K extends 'boolean'
      ? boolean
      : K extends 'commands' | 'names' | 'events' | 'notifications' | 'rules'
        ? readonly string[]
        : number;

type OptionOf<F extends Flag> = F['kind'] extends
  'boolean' | 'commands' | 'names' | 'events' | 'notifications' | 'rules'
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

/** The value of a flag that is not set, as the user would write it; null if it has none. */
export const defaultOf = (flag: Flag): boolean | readonly string[] | string | null => {
  if (flag.kind === 'boolean') return isNegated(flag);
  if (isRepeatable(flag)) return [];
  return typeof flag.default === 'string' ? flag.default : null;
};

/** The flag may be given several times. */
export const isRepeatable = ({ kind }: Pick<Flag, 'kind'>): boolean =>
  ['commands', 'names', 'events', 'notifications', 'rules'].includes(kind);

export const flagNames = Object.keys(flags) as FlagName[];

export const canComeFrom = (source: Source, name: FlagName): boolean => (flags[name] as Flag).sources.includes(source);

/** The flags that can be set in .spool/config.json. */
export const configKeys = flagNames.filter((name) => canComeFrom('config', name));

const kebabCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Parsed values by the name of their flag. */
export type FlagValues = Readonly<Partial<Record<FlagName, Value>>>;

/** Values as config.json has them. */
export type FileSettings = Readonly<Partial<Record<FlagName, unknown>>>;
