import { type AgentEvent } from '../ralph/agent-events.ts';
import { type CommandOrigin, type Workspace, type RunPlan } from '../ralph/plan.ts';
import { failed, type IterationRecord } from '../ralph/record.ts';
import { type RunEvent, type StopReason } from '../ralph/events.ts';
import { refusalOf } from '../ralph/gate-result.ts';
import type { RunView } from '../ralph/view.ts';
import { lineChanges, duration, localTime, someOf } from '../text/format.ts';
import { oneLine, truncate } from './shorten.ts';
import { filesChangedText, usageText } from './figures.ts';
import { withoutControls } from '../text/controls.ts';
import { limitsText } from './limits.ts';
import { summarise } from './summary.ts';
import { dayOf } from '../trust/render.ts';
import { visible } from '../text/visible.ts';
import type { Display } from './display.ts';
import { createStatusLine } from './status-line.ts';
import type { Terminal } from './terminal.ts';

export interface LiveOptions {
  /** Show the agent's messages and tool calls. */
  readonly stream: boolean;
  /** Also show reasoning and the mentions of the promise that were ignored. */
  readonly verbose: boolean;
  readonly harness: (name: string) => HarnessFacts;
  /** Returns the folder with the prompts and logs of a run, relative to the current folder. */
  readonly folderOf: (view: RunView) => string;
  /** Hosts and paths that the user allows in the sandbox. */
  readonly sandboxAllow: readonly string[];
  readonly sandboxWrite: readonly string[];
}

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

const oneMinute = 60_000;

/** Renders the events of a run as text. */
export const createLiveReporter = (terminal: Terminal, options: LiveOptions): Display => {
  const { style } = terminal;
  const statusLine = createStatusLine(terminal);
  let plan: RunPlan | null = null;

  /** The last output of the agent did not end with a newline. */
  let lineIsOpen = false;

  const endLine = () => {
    if (lineIsOpen) terminal.print('\n');
    lineIsOpen = false;
  };
  const write = (print: () => void) => {
    endLine();
    statusLine.above(print);
  };
  const log = (line: string) => write(() => terminal.log(`${line}\n`));
  const print = (line: string) => write(() => terminal.print(`${line}\n`));
  /** A long line arrives in pieces. On an interactive terminal each piece ends with a newline, for the status line. */
  const printPlain = (text: string) => {
    if (terminal.isInteractive) return print(withoutLineEnd(text));
    terminal.print(text);
    lineIsOpen = !text.endsWith('\n');
  };

  const showAgent = (event: AgentEvent): void => {
    if (!options.stream) return;
    switch (event.type) {
      case 'text':
        return event.plain ? printPlain(event.text) : print(withoutLineEnd(withoutControls(event.text)));
      case 'tool':
        return print(style('cyan', `  · ${oneLine(event.tool)} ${oneLine(event.title, 100)}`.trimEnd()));
      case 'tool-result':
        return event.failed && !event.denied ? print(style('red', `  ! ${oneLine(event.tool)} failed`)) : undefined;
      case 'denied':
        return print(style('red', `  ! ${oneLine(event.tool)} denied`));
      case 'error':
        return log(style('red', `  ! ${oneLine(event.message)}`));
      case 'stderr':
        return event.text.trim() === '' ? undefined : log(style('dim', `  ${withoutControls(event.text)}`));
      case 'reasoning':
        return options.verbose ? print(style('dim', withoutLineEnd(withoutControls(event.text)))) : undefined;
      case 'usage':
        return;
      default:
        return event satisfies never;
    }
  };

  const onEvent = (event: RunEvent, view: RunView): void => {
    switch (event.type) {
      case 'run-started':
        plan = event.plan;
        for (const line of introduce(event, options)) log(line);
        if (event.guarded?.length) log(`Guarded      ${guardedText(event.guarded, options.verbose)}`);
        return;
      case 'iteration-started':
        statusLine.stop();
        log('');
        log(style('bold', iterationTitle(event, plan, options)));
        statusLine.start(`${options.harness(event.agent.harness).title} is working…`);
        return;
      case 'agent':
        return showAgent(event.event);
      case 'notice':
        return log(style('yellow', event.text));
      case 'iteration-finished':
        statusLine.stop();
        log(iterationSummary(event.record, terminal));
        for (const line of tamperingAdvice(event.record, view)) log(line);
        return options.verbose ? mentions(event.record).forEach(log) : undefined;
      case 'attempt-deferred':
        statusLine.stop();
        return log(style('yellow', describeDeferred(event, view, options)));
      case 'waiting': {
        const ms = event.untilMs - Date.now();
        const at = ms < oneMinute ? '' : ` (until ${localTime(new Date(event.untilMs).toISOString())})`;
        log(style('dim', `Waiting ${duration(Math.max(0, ms))}${at}: ${event.why}.`));
        return statusLine.start('Resuming in', event.untilMs);
      }
      case 'iteration-pending':
        return;
      case 'gate-started':
        statusLine.stop();
        log(style('dim', `Verifying: ${event.commands.map((command) => shown(command)).join('; ')}`));
        return statusLine.start('Verifying…');
      case 'run-ended':
        statusLine.stop();
        log('');
        log(`${style(colours[event.reason], titles[event.reason])} ${oneLine(event.detail)}.`);
        for (const line of summarise(view)) log(line);
        log(style('dim', `  Prompts and logs: ${options.folderOf(view)}`));
        for (const note of event.notes ?? []) log(style('yellow', note));
        return terminal.isInteractive ? terminal.control('bell') : undefined;
      default:
        return event satisfies never;
    }
  };

  return {
    onEvent,
    warn: log,
    dispose: () => {
      endLine();
      statusLine.stop();
    },
  };
};

const withoutLineEnd = (text: string) => (text.endsWith('\n') ? text.slice(0, -1) : text);

const iterationTitle = (
  event: RunEvent & { type: 'iteration-started' },
  plan: RunPlan | null,
  { harness }: LiveOptions,
) => {
  const of = plan?.maxIterations === Infinity ? '' : ` of ${plan?.maxIterations}`;
  const by = (plan?.agents.length ?? 1) > 1 ? `, ${harness(event.agent.harness).title}` : '';
  return `Iteration ${event.iteration}${of}${by}`;
};

const titles: Record<StopReason, string> = {
  complete: 'Complete:',
  limit: 'Not complete:',
  failed: 'Failed:',
  blocked: 'Blocked:',
  interrupted: 'Interrupted:',
};

const colours = { complete: 'green', limit: 'yellow', failed: 'red', blocked: 'red', interrupted: 'yellow' } as const;

const introduce = (event: RunEvent & { type: 'run-started' }, options: LiveOptions): string[] => {
  const { harness } = options;
  const { plan, workspace, commands = [] } = event;
  const agents = plan.agents.map(
    (agent) =>
      `${fullTitle(harness(agent.harness))}, ${agent.model === null ? 'default model' : `model ${agent.model}`}`,
  );
  const restrictions = plan.agents
    .map((agent) => harness(agent.harness).permissions?.defaultRestrictions)
    .find((text) => text);
  const ownRules = `the agent's own rules (--allow-all to skip prompts)${restrictions ? `: ${restrictions}` : ''}`;
  const min = plan.minIterations === 1 ? '' : `, after at least ${plan.minIterations} iterations`;
  return [
    `Change       ${plan.change}${plan.module === null ? '' : ` (module ${plan.module})`}`,
    `Agent        ${agents.join('; fallback: ')}`,
    `Permissions  ${plan.allowAll ? allAllowed(plan) : ownRules}`,
    ...(plan.sandbox ? [`Sandbox      ${sandboxText(options)}`] : []),
    `Done when    ${conditionsText(plan, commands)}${min}`,
    ...otherCommands(commands, workspace),
    `Limits       ${limitsText(plan, (about) => except(about, plan, options)).join(', ')}`,
  ];
};

/** `mine (custom: ./tools/agent)`: the name alone, which the project chooses, may mislead. */
const fullTitle = ({ title, custom }: HarnessFacts): string =>
  custom === undefined ? title : `${title} (custom: ${shown(custom.command)})`;

/** Describes what `--allow-all` means for a run. */
export const allAllowed = ({ sandbox }: Pick<RunPlan, 'sandbox'>): string => {
  const everything = 'everything is allowed without asking (--allow-all)';
  return sandbox ? everything : `${everything}; without --sandbox, the agent can access everything that you can`;
};

const sandboxText = ({ sandboxAllow, sandboxWrite }: LiveOptions): string => {
  const files = ['the project', ...sandboxWrite].join(', ');
  const hosts = ["the agent's providers", 'this machine', ...sandboxAllow].join(', ');
  return oneLine(`can write to ${files}; can connect to ${hosts}`, 500);
};

const maxGuardedShown = 6;

const guardedText = (guarded: readonly string[], all: boolean): string => {
  const names = guarded.map((name) => oneLine(name, 200));
  if (all || names.length <= maxGuardedShown) return someOf(names, names.length, names.length);
  return `${someOf(names, names.length, maxGuardedShown)} (--verbose to show all)`;
};

/** Returns the commands that restore or accept what the gate rejected as tampering. */
const tamperingAdvice = ({ gate }: IterationRecord, { workspace }: RunView): string[] => {
  if (!gate?.accept) return [];
  const where = workspace?.worktree ? ` (in ${workspace.root})` : '';
  return [
    ...(gate.restore ?? []).map((way) => `  To restore it${where}: ${oneLine(way)}`),
    `  To accept it: ${gate.accept}`,
  ];
};

const mentions = (record: IterationRecord): string[] =>
  record.mentions.map(({ words, why }) => `  Ignored, ${why}: ${oneLine(words, Infinity).slice(-200)}`);

/** `<promise>COMPLETE</promise>, "npm test" passes (config.json, trusted 2026-11-16), all tasks are done`. */
const conditionsText = ({ completionPromise, gate }: RunPlan, origins: Origins): string =>
  [
    `<promise>${completionPromise}</promise>`,
    ...gate.verify.map((command) => `"${shown(command)}" passes${originText(origins, 'verify', command)}`),
    ...(gate.requireTasks ? ['all tasks are done'] : []),
  ].join(', ');

type Origins = readonly CommandOrigin[];

/** Lists the setup command if there is a worktree to set up, and the notify command. */
const otherCommands = (origins: Origins, workspace: Workspace): string[] => {
  const line = (title: string, key: CommandOrigin['key']) =>
    origins
      .filter((origin) => origin.key === key)
      .map(({ command }) => `${title.padEnd(13)}${shown(command)}${originText(origins, key, command)}`);
  return [...(workspace.worktree === null ? [] : line('Setup', 'worktreeSetup')), ...line('Notify', 'notify')];
};

const maxCommandColumns = 1000;

const shown = (command: string): string => truncate(visible(command), maxCommandColumns, '…');

/** ` (config.json, trusted 2026-11-16)`; empty for a command passed as a flag. */
const originText = (origins: Origins, key: CommandOrigin['key'], command: string): string => {
  const origin = origins.find((one) => one.key === key && one.command === command);
  if (origin === undefined || origin.setBy === 'caller') return '';
  const source = visible(origin.source.replace(` ${key}`, ''));
  if (origin.trusted === null) return ` (${source})`;
  return ` (${source}, ${origin.trusted === 'SPOOL_TRUST' ? origin.trusted : `trusted ${dayOf(origin.trusted)}`})`;
};

/** ` (not for Codex)`: a limit does not apply to an agent that does not report the value. */
const except = (capability: string, { agents }: RunPlan, { harness }: LiveOptions): string => {
  const facts = agents.map((agent) => harness(agent.harness));
  const silent = facts.filter(({ capabilities }) => !capabilities.includes(capability)).map(({ title }) => title);
  return silent.length === 0 ? '' : ` (not for ${[...new Set(silent)].join(', ')})`;
};

const describeDeferred = (
  event: RunEvent & { type: 'attempt-deferred' },
  view: RunView,
  { harness }: LiveOptions,
): string => {
  const { attempt } = event;
  const others = view.agents.length > 1 ? ' Falling back to another agent if one is available.' : '';
  const problem = attempt.error?.kind === 'rate-limit' ? 'hit its usage limit' : 'is not available';
  const why = oneLine(attempt.error?.message ?? 'no reason given', 200);
  return `${harness(attempt.harness).title} ${problem}: ${why} (not counted as an iteration).${others}`;
};

const iterationSummary = (record: IterationRecord, { style }: Terminal): string => {
  const took = duration(record.durationMs);
  const commit = record.commit === null ? [] : [`commit ${record.commit.slice(0, 8)}`];
  const used = usageText(record.usage);
  const denied = record.denied ? [`denied: ${oneLine(record.denied.tools.join(', '))}`] : [];
  const rest = [workText(record), ...commit, ...(used ? [used] : []), ...denied].join(', ');
  const facts = `${took}, ${rest}`;
  if (record.completionFound) return style('green', `Promise accepted: ${facts}`);
  if (record.blocked !== null) return style('red', `Gave up: ${oneLine(record.blocked)} (${facts})`);
  if (record.rejected !== null) return style('red', `Promise not accepted: ${oneLine(record.rejected)} (${facts})`);
  if (record.end === 'interrupted') return style('red', `Interrupted after ${took}: ${rest}`);
  if (failed(record)) return style('red', `Failed: ${oneLine(record.error?.message ?? '')} (${facts})`);
  const gate = record.gate?.passed === false ? style('red', `; checks failed: ${refusalOf(record.gate)}`) : '';
  return `Not done yet: ${facts}${gate}`;
};

const workText = ({ git }: IterationRecord): string => {
  if (git === null) return 'no git';
  return git.filesChanged === 0 ? 'no changes' : `${filesChangedText(git)} (${lineChanges(git)})`;
};
