import type { RunEvent } from '../ralph/events.ts';
import { agentKey, type CommandOrigin, type Limits, type RunPlan, type Workspace } from '../ralph/plan.ts';
import { localDay, pluralise, someOf, widthOf } from '../text/format.ts';
import { visible } from '../text/escape-hidden.ts';
import { limitsText, stopsText } from './limits.ts';
import { oneLine, truncate } from './shorten.ts';
import type { Style, Terminal } from './terminal.ts';
import { wrap } from './wrap.ts';

type RunStarted = RunEvent & { readonly type: 'run-started' };

/** The part of a harness that is shown. Fields must have the names of `Harness`, which this room cannot import. */
interface HarnessFacts {
  /** The name shown to users, such as "OpenCode". */
  readonly title: string;
  /** Set if it is declared in config.json. */
  readonly custom?: { readonly command: string };
  /** What it cannot do without --allow-all. */
  readonly permissions?: { readonly defaultRestrictions?: string };
  /** What its output reports, such as "cost". */
  readonly capabilities: readonly string[];
}

export interface IntroductionOptions {
  /** Describe all settings of the run. */
  readonly verbose: boolean;
  readonly findHarness: (name: string) => HarnessFacts;
  /** Hosts and paths that the user allows in the sandbox. */
  readonly sandboxAllow: readonly string[];
  readonly sandboxWrite: readonly string[];
  /** Limits that need not be described. */
  readonly defaultLimits?: Readonly<Partial<Limits>>;
}

interface Row {
  readonly title: string;
  readonly text: string;
  readonly style?: Style;
}

/** Returns what matters about a run that starts: its agent, when it is done, when it stops, and where it commits. */
export const introduce = (event: RunStarted, options: IntroductionOptions, terminal: Terminal): string[] => [
  headline(event, terminal),
  ...rowsOf(event, options, terminal).flatMap((row) => renderRow(row, terminal)),
];

/** `ralph  001-01_add-invoices                0/7 tasks` */
const headline = ({ plan, tasks }: RunStarted, { style, isInteractive, columns }: Terminal): string => {
  const change = oneLine(plan.change);
  const count = tasks ? `${tasks.done}/${tasks.total} tasks` : '';
  const used = widthOf(`ralph  ${change}${count}`);
  const blanks = ' '.repeat(isInteractive ? Math.max(2, Math.min(columns, headlineColumns) - used) : 2);
  return `ralph  ${style('bold', change)}${count === '' ? '' : `${blanks}${count}`}`;
};

const headlineColumns = 80;
const titleColumns = 11;

const renderRow = ({ title, text, style }: Row, terminal: Terminal): string[] => {
  const start = `  ${title}`.padEnd(titleColumns);
  const columns = terminal.isInteractive ? terminal.columns - titleColumns : Infinity;
  const rows = columns < 20 ? [text] : wrap(text, columns);
  return rows.map((row, index) => {
    const line = `${index === 0 ? start : ' '.repeat(titleColumns)}${row}`;
    return style === undefined ? line : terminal.style(style, line);
  });
};

const rowsOf = (event: RunStarted, options: IntroductionOptions, terminal: Terminal): Row[] => {
  const { plan, workspace, commands = [], guarded = [] } = event;
  const { separator } = terminal.symbols;
  const exceptFor = (about: string) => except(about, plan, options);
  const limits = options.verbose ? limitsText(plan, exceptFor) : stopsText(plan, exceptFor, options.defaultLimits);
  const file = event.format === undefined ? null : plan.source.replace(/^file:/, '');
  return [
    ...(file === null ? [] : [{ title: 'File', text: `${oneLine(file)}${separator}${oneLine(event.format!)}` }]),
    ...(options.verbose && plan.module !== null ? [{ title: 'Module', text: oneLine(plan.module) }] : []),
    { title: 'Agent', text: [...agentTexts(plan, options), permissionsText(plan, options)].join(separator) },
    ...(plan.allowAll && !plan.sandbox ? [{ title: 'Warning', text: unconfined, style: 'yellow' } as const] : []),
    ...(plan.sandbox ? [{ title: 'Sandbox', text: sandboxText(options) }] : []),
    { title: 'Done', text: doneText(plan, commands) },
    { title: 'Stops', text: limits.join(separator) },
    { title: 'Commits', text: commitsText(event) },
    ...otherCommands(commands, workspace),
    ...(guarded.length === 0
      ? []
      : [{ title: 'Guarded', text: guardedText(guarded, options.verbose), style: 'dim' as const }]),
  ];
};

const agentTexts = ({ agents, ladder }: RunPlan, { findHarness }: IntroductionOptions): string[] =>
  agents.flatMap(({ harness: name, model }, index) => [
    `${index === 0 ? '' : ladder ? 'then: ' : 'fallback: '}${fullTitle(findHarness(name))}`,
    model === null ? 'default model' : oneLine(model),
  ]);

/** `mine (custom: ./tools/agent)`: the name alone, which the project chooses, may mislead. */
const fullTitle = ({ title, custom }: HarnessFacts): string =>
  custom === undefined ? title : `${title} (custom: ${shownCommand(custom.command)})`;

const permissionsText = ({ allowAll, agents }: RunPlan, { findHarness }: IntroductionOptions): string => {
  if (allowAll) return allowed;
  const restrictions = agents
    .map((agent) => findHarness(agent.harness).permissions?.defaultRestrictions)
    .find((text) => text);
  return restrictions ? `own permission rules: ${restrictions} (or use --allow-all)` : 'own permission rules';
};

const allowed = 'everything is allowed without asking (--allow-all)';
const unconfined = 'without --sandbox, the agent can access everything that you can';

/** Describes in one sentence what `--allow-all` means for a run. */
export const allAllowed = ({ sandbox }: Pick<RunPlan, 'sandbox'>): string =>
  sandbox ? allowed : `${allowed}; ${unconfined}`;

const sandboxText = ({ sandboxAllow, sandboxWrite }: IntroductionOptions): string => {
  const files = ['the project', ...sandboxWrite].join(', ');
  const hosts = ["the agent's providers", 'this machine', ...sandboxAllow].join(', ');
  return oneLine(`can write to ${files}; can connect to ${hosts}`, 500);
};

type Origins = readonly CommandOrigin[];

/** `when it prints <promise>COMPLETE</promise> and "npm test" passes (config.json, trusted 2026-11-16)`. */
const doneText = ({ completionPromise, gate, minIterations }: RunPlan, origins: Origins): string => {
  const conditions = [
    `when it prints <promise>${completionPromise}</promise>`,
    ...gate.verify.map((command) => `"${shownCommand(command)}" passes${originText(origins, 'verify', command)}`),
    ...(gate.requireTasks ? ['all tasks are done'] : []),
    ...(gate.requireScenarios ? [provenText(gate)] : []),
    ...(gate.review ? [`a review by ${oneLine(agentKey(gate.review))} passes`] : []),
  ];
  const min = minIterations === 1 ? '' : `, after at least ${pluralise(minIterations, 'iteration')}`;
  const last = conditions.length > 1 ? ` and ${conditions.pop()!}` : '';
  return `${conditions.join(', ')}${last}${min}`;
};

export const provenText = ({ redFirst }: RunPlan['gate']): string =>
  `every scenario is proven${redFirst ? ' by something that fails without the change' : ''}`;

const commitsText = ({ plan, workspace, repository }: RunStarted): string => {
  if (!plan.commit) return 'nothing (--no-commit)';
  if (repository === null) return 'nothing: this folder is not in a git repository';
  const branch = workspace.branch ?? repository?.branch ?? null;
  return `to ${branch === null ? 'no branch (detached HEAD)' : oneLine(branch)}, after each iteration`;
};

/** Lists the setup command if there is a worktree to set up, and the notify command. */
const otherCommands = (origins: Origins, workspace: Workspace): Row[] => {
  const rows = (title: string, key: CommandOrigin['key']): Row[] =>
    origins
      .filter((origin) => origin.key === key)
      .map(({ command }) => ({ title, text: `${shownCommand(command)}${originText(origins, key, command)}` }));
  return [...(workspace.worktree === null ? [] : rows('Setup', 'worktreeSetup')), ...rows('Notify', 'notify')];
};

const maxGuardedShown = 6;

const guardedText = (guarded: readonly string[], all: boolean): string => {
  const names = guarded.map((name) => oneLine(name, 200));
  if (all || names.length <= maxGuardedShown) return someOf(names, names.length, names.length);
  return `${someOf(names, names.length, maxGuardedShown)} (--verbose to show all)`;
};

const maxCommandColumns = 1000;

export const shownCommand = (command: string): string => truncate(visible(command), maxCommandColumns, '…');

/** ` (config.json, trusted 2026-11-16)`; empty for a command passed as a flag. */
const originText = (origins: Origins, key: CommandOrigin['key'], command: string): string => {
  const origin = origins.find((one) => one.key === key && one.command === command);
  if (origin === undefined || origin.setBy === 'caller') return '';
  const source = visible(origin.source.replace(` ${key}`, ''));
  if (origin.trusted === null) return ` (${source})`;
  return ` (${source}, ${origin.trusted === 'SPOOL_TRUST' ? origin.trusted : `trusted ${localDay(new Date(origin.trusted))}`})`;
};

/** ` (not for Codex)`: a limit does not apply to an agent that does not report the value. */
const except = (capability: string, { agents }: RunPlan, { findHarness }: IntroductionOptions): string => {
  const facts = agents.map((agent) => findHarness(agent.harness));
  const silent = facts.filter(({ capabilities }) => !capabilities.includes(capability)).map(({ title }) => title);
  return silent.length === 0 ? '' : ` (not for ${[...new Set(silent)].join(', ')})`;
};
