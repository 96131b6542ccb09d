import {
  type AgentEvent,
  type CommandOrigin,
  failed,
  type IterationRecord,
  type Workspace,
  type RunEvent,
  type RunPlan,
  type StopReason,
} from '../ralph/events.ts';
import { refusalOf } from '../ralph/gate.ts';
import type { RunView } from '../ralph/view.ts';
import { lineChanges, pluralise, truncate, duration, localTime, oneLine, someOf } from '../text/format.ts';
import { usageText } from './figures.ts';
import { withoutControls } from '../text/controls.ts';
import { limitsText } from './limits.ts';
import { summarise } from './summary.ts';
import { dayOf } from '../trust/render.ts';
import { visible } from '../text/visible.ts';
import { createStatusLine } from './status-line.ts';
import type { Terminal } from './terminal.ts';

export interface LiveOptions {
  /** Show what the agent says and does while it works. */
  readonly stream: boolean;
  /** Show what it thinks, and which mentions of the promise were not counted. */
  readonly verbose: boolean;
  /** What is known of the harness of that name. */
  readonly harness: (name: string) => HarnessFacts;
  /** Where the prompts and the logs of a run are, as the user would type it. */
  readonly folderOf: (view: RunView) => string;
  /** Hosts and paths that the user allows in the sandbox. */
  readonly sandboxAllow: readonly string[];
  readonly sandboxWrite: readonly string[];
}

/** The part of a harness that is shown. Fields must have the names of `Harness`, which this room cannot import. */
interface HarnessFacts {
  readonly title: string;
  readonly custom?: { readonly command: string };
  readonly permissions?: { readonly defaultRestrictions?: string };
  readonly capabilities: readonly string[];
}

const oneMinute = 60_000;

/** Shows a run to a person, event by event. */
export const createLiveReporter = (terminal: Terminal, options: LiveOptions) => {
  const { style } = terminal;
  const ticker = createStatusLine(terminal);
  let plan: RunPlan | null = null;

  /** The last words of the agent did not end their line. */
  let lineIsOpen = false;

  const write = (print: () => void) => {
    if (lineIsOpen) terminal.print('\n');
    lineIsOpen = false;
    ticker.above(print);
  };
  const say = (line: string) => write(() => terminal.log(`${line}\n`));
  const out = (line: string) => write(() => terminal.print(`${line}\n`));
  /** A long line comes in pieces. On a screen each ends its line, as the ticker needs one of its own. */
  const outPlain = (text: string) => {
    if (terminal.isInteractive) return out(withoutLineEnd(text));
    terminal.print(text);
    lineIsOpen = !text.endsWith('\n');
  };

  const showAgent = (event: AgentEvent): void => {
    if (!options.stream) return;
    switch (event.type) {
      case 'text':
        return event.plain ? outPlain(event.text) : out(withoutLineEnd(withoutControls(event.text)));
      case 'tool':
        return out(style('cyan', `  · ${oneLine(event.tool)} ${oneLine(event.title, 100)}`.trimEnd()));
      case 'tool-result':
        return event.failed && !event.denied ? out(style('red', `  ! ${oneLine(event.tool)} failed`)) : undefined;
      case 'denied':
        return out(style('red', `  ! ${oneLine(event.tool)} denied`));
      case 'error':
        return say(style('red', `  ! ${oneLine(event.message)}`));
      case 'stderr':
        return event.text.trim() === '' ? undefined : say(style('dim', `  ${withoutControls(event.text)}`));
      case 'reasoning':
        return options.verbose ? out(style('dim', withoutLineEnd(withoutControls(event.text)))) : undefined;
      case 'usage':
        return;
    }
  };

  return (event: RunEvent, view: RunView): void => {
    switch (event.type) {
      case 'run-started':
        plan = event.plan;
        for (const line of introduce(event, options)) say(line);
        if (event.guarded?.length) say(`Guarded      ${guardedText(event.guarded, options.verbose)}`);
        return;
      case 'iteration-started':
        ticker.stop();
        say('');
        say(style('bold', iterationTitle(event, plan, options)));
        ticker.start(`${options.harness(event.agent.harness).title} works`);
        return;
      case 'agent':
        return showAgent(event.event);
      case 'notice':
        return say(style('yellow', event.text));
      case 'iteration-finished':
        ticker.stop();
        say(summary(event.record, terminal));
        for (const line of waysOut(event.record, view)) say(line);
        return options.verbose ? mentions(event.record).forEach(say) : undefined;
      case 'attempt-deferred':
        ticker.stop();
        return say(style('yellow', describeDeferred(event, view, options)));
      case 'waiting': {
        const ms = event.untilMs - Date.now();
        const at = ms < oneMinute ? '' : ` (until ${localTime(new Date(event.untilMs).toISOString())})`;
        say(style('dim', `Waiting ${duration(Math.max(0, ms))}${at}: ${event.why}.`));
        return ticker.start('Waiting', event.untilMs);
      }
      case 'iteration-pending':
        return;
      case 'gate-started':
        ticker.stop();
        say(style('dim', `Verifying: ${event.commands.map((command) => shown(command)).join('; ')}`));
        return ticker.start('Verifying');
      case 'run-ended':
        ticker.stop();
        say('');
        say(`${style(colours[event.reason], titles[event.reason])} ${oneLine(event.detail)}.`);
        for (const line of summarise(view)) say(line);
        say(style('dim', `  Prompts and logs: ${options.folderOf(view)}`));
        return terminal.isInteractive ? terminal.control('bell') : undefined;
    }
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
      `${fullTitle(harness(agent.harness))}, ${agent.model === null ? 'its default model' : `model ${agent.model}`}`,
  );
  const unlessAllowed = plan.agents
    .map((agent) => harness(agent.harness).permissions?.defaultRestrictions)
    .find((text) => text);
  const own = `the agent's own rules; nothing is approved for it (--allow-all would)${unlessAllowed ? `: ${unlessAllowed}` : ''}`;
  const min = plan.minIterations === 1 ? '' : `, not before iteration ${plan.minIterations}`;
  return [
    `Change       ${plan.change}${plan.module === null ? '' : ` (module ${plan.module})`}`,
    `Agent        ${agents.join('; if that cannot work: ')}`,
    `Permissions  ${plan.allowAll ? allAllowed(plan) : own}`,
    ...(plan.sandbox ? [`Sandbox      ${sandboxText(options)}`] : []),
    `Until        <promise>${plan.completionPromise}</promise>${min}${gateText(plan, commands)}`,
    ...otherCommands(commands, workspace),
    `Limits       ${limitsText(plan, (about) => except(about, plan, options)).join(', ')}`,
  ];
};

/** `mine (custom: ./tools/agent)`: the project chooses the name, so the command is shown too. */
const fullTitle = ({ title, custom: own }: HarnessFacts): string =>
  own === undefined ? title : `${title} (custom: ${shown(own.command)})`;

/** What `--allow-all` means for a run. */
export const allAllowed = ({ sandbox }: Pick<RunPlan, 'sandbox'>): string => {
  const everything = 'everything is allowed without asking (--allow-all)';
  return sandbox
    ? everything
    : `${everything}, and without a sandbox it reaches all that you can reach (--sandbox confines it)`;
};

const sandboxText = ({ sandboxAllow, sandboxWrite }: LiveOptions): string => {
  const files = ['the project', ...sandboxWrite].join(', ');
  const hosts = ["the agent's providers", 'this machine', ...sandboxAllow].join(', ');
  return oneLine(`what runs can write to ${files}, and reach ${hosts}`, 500);
};

/** How many names of what is guarded are shown. */
const mostGuarded = 6;

const guardedText = (names: readonly string[], all: boolean): string => {
  if (all || names.length <= mostGuarded) return someOf(names, names.length, names.length);
  return `${someOf(names, names.length, mostGuarded)} (--verbose shows them)`;
};

/** How a person puts right what the gate refused because the goal was changed. */
const waysOut = ({ gate }: IterationRecord, { workspace }: RunView): string[] => {
  if (!gate?.accept) return [];
  const where = workspace?.worktree ? ` (in ${workspace.root})` : '';
  return [
    ...(gate.restore ?? []).map((way) => `  To restore it${where}: ${oneLine(way)}`),
    `  To accept it: ${gate.accept}`,
  ];
};

const mentions = (record: IterationRecord): string[] =>
  record.mentions.map(({ words, why }) => `  Not counted, ${why}: ${oneLine(words, Infinity).slice(-200)}`);

/** `, verified by "npm test" (config.json, trusted 2026-11-16), the tasks`; empty when nothing is looked into. */
const gateText = ({ gate }: RunPlan, origins: Origins): string => {
  const by = [
    ...gate.verify.map((command) => `"${shown(command)}"${originText(origins, 'verify', command)}`),
    ...(gate.requireTasks ? ['the tasks'] : []),
  ];
  return by.length === 0 ? '' : `, verified by ${by.join(', ')}`;
};

type Origins = readonly CommandOrigin[];

/** The setup where there is something to set up, and what is run at the end. */
const otherCommands = (origins: Origins, workspace: Workspace): string[] => {
  const line = (title: string, key: CommandOrigin['key']) =>
    origins
      .filter((origin) => origin.key === key)
      .map(({ command }) => `${title.padEnd(13)}${shown(command)}${originText(origins, key, command)}`);
  return [...(workspace.worktree === null ? [] : line('Setup', 'worktreeSetup')), ...line('Notify', 'notify')];
};

/** Commands are hardly ever longer. */
const longestCommand = 1000;

const shown = (command: string): string => truncate(visible(command), longestCommand, '…');

/** ` (config.json, trusted 2026-11-16)`; empty for what was typed as a flag. */
const originText = (origins: Origins, key: CommandOrigin['key'], command: string): string => {
  const origin = origins.find((one) => one.key === key && one.command === command);
  if (origin === undefined || origin.source.startsWith('--')) return '';
  const source = visible(origin.source.replace(` ${key}`, ''));
  if (origin.trusted === null) return ` (${source})`;
  return ` (${source}, ${origin.trusted === 'SPOOL_TRUST' ? origin.trusted : `trusted ${dayOf(origin.trusted)}`})`;
};

/** ` (not for Codex)`: a limit does not hold for an agent that does not report what it is about. */
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
  const others = view.agents.length > 1 ? ' Another agent goes on with it if one is free.' : '';
  const why = oneLine(attempt.error?.message ?? 'it cannot work now', 200);
  return `${harness(attempt.harness).title} is held up: ${why}. This does not count as an iteration.${others}`;
};

const summary = (record: IterationRecord, { style }: Terminal): string => {
  const took = duration(record.durationMs);
  const work =
    record.git === null
      ? 'no git'
      : `${pluralise(record.git.filesChanged, 'file')} changed (${lineChanges(record.git)})`;
  const commit = record.commit === null ? [] : [`commit ${record.commit.slice(0, 8)}`];
  const used = usageText(record.usage);
  const denied = record.denied ? [`denied: ${oneLine(record.denied.tools.join(', '))}`] : [];
  const facts = [took, work, ...commit, ...(used ? [used] : []), ...denied].join(', ');
  if (record.completionFound) return style('green', `Promise found: ${facts}`);
  if (record.blocked !== null) return style('red', `The agent gave up, ${oneLine(record.blocked)}: ${facts}`);
  if (record.rejected !== null) return style('red', `Promise rejected: ${oneLine(record.rejected)} (${facts})`);
  const gate = record.gate?.passed === false ? style('red', `; the gate is red: ${refusalOf(record.gate)}`) : '';
  if (failed(record)) return style('red', `Failed, ${oneLine(record.error?.message ?? '')}: ${facts}`);
  return `No promise yet: ${facts}${gate}`;
};
