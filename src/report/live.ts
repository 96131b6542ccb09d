import {
  type AgentEvent,
  failed,
  type IterationRecord,
  type RunEvent,
  type RunPlan,
  type StopReason,
} from '../ralph/events.ts';
import { count, duration, lineChanges, oneLine, usageText, withoutControls } from './format.ts';
import { createTicker } from './ticker.ts';
import type { Terminal } from './terminal.ts';

export interface LiveOptions {
  /** Show what the agent says and does while it works. */
  readonly stream: boolean;
  /** Show what it thinks, and which mentions of the promise were not counted. */
  readonly verbose: boolean;
  /** What is known of the harness of that name. */
  readonly harness: (name: string) => HarnessFacts;
  /** Where the prompts and the logs of this run are, as the user would type it. */
  readonly folder: string;
}

interface HarnessFacts {
  /** How the agent is called, such as "OpenCode". */
  readonly title: string;
  /** What it cannot do without --allow-all. */
  readonly unlessAllowed?: string;
}

/** Shows a run to a person, event by event. */
export const createLiveReport = (terminal: Terminal, options: LiveOptions) => {
  const { paint } = terminal;
  const ticker = createTicker(terminal);
  let plan: RunPlan | null = null;
  let started = 0;

  const say = (line: string) => ticker.above(() => terminal.say(`${line}\n`));
  const out = (line: string) => ticker.above(() => terminal.out(`${line}\n`));

  const showAgent = (event: AgentEvent): void => {
    if (!options.stream) return;
    switch (event.type) {
      case 'text':
        return out(withoutControls(event.text).replace(/\n$/, ''));
      case 'tool':
        return out(paint('cyan', `  · ${oneLine(event.tool)} ${oneLine(event.about, 100)}`.trimEnd()));
      case 'tool-result':
        return event.failed ? out(paint('red', `  ! ${oneLine(event.tool)} failed`)) : undefined;
      case 'error':
        return say(paint('red', `  ! ${oneLine(event.message)}`));
      case 'stderr':
        return event.text.trim() === '' ? undefined : say(paint('dim', `  ${withoutControls(event.text)}`));
      case 'reasoning':
        return options.verbose ? out(paint('dim', withoutControls(event.text).replace(/\n$/, ''))) : undefined;
      case 'usage':
        return;
    }
  };

  return (event: RunEvent): void => {
    switch (event.type) {
      case 'run-started':
        plan = event.plan;
        started = performance.now();
        for (const line of introduce(event.plan, options)) say(line);
        return;
      case 'iteration-started':
        say('');
        say(paint('bold', iterationTitle(event, plan, options)));
        ticker.start(`${options.harness(event.agent.harness).title} works`);
        return;
      case 'agent':
        return showAgent(event.event);
      case 'notice':
        return say(paint('yellow', event.text));
      case 'iteration-finished':
        ticker.stop();
        say(summary(event.record, terminal));
        return options.verbose ? mentions(event.record).forEach(say) : undefined;
      case 'waiting':
        return say(paint('dim', `Waiting ${duration(event.ms)}: ${event.why}.`));
      case 'run-ended':
        say('');
        say(
          `${paint(colours[event.reason], titles[event.reason])} ${oneLine(event.detail)} (${duration(performance.now() - started)} in all).`,
        );
        if (event.reason === 'interrupted') say(`Go on with: spool ralph --change ${plan?.change}`);
        return say(paint('dim', `Prompts and logs: ${options.folder}`));
    }
  };
};

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
  interrupted: 'Interrupted:',
};

const colours = { complete: 'green', limit: 'yellow', failed: 'red', interrupted: 'yellow' } as const;

const introduce = (plan: RunPlan, { harness }: LiveOptions): string[] => {
  const agents = plan.agents.map(
    (agent) =>
      `${harness(agent.harness).title}, ${agent.model === null ? 'its default model' : `model ${agent.model}`}`,
  );
  const unlessAllowed = plan.agents.map((agent) => harness(agent.harness).unlessAllowed).find((text) => text);
  const max =
    plan.maxIterations === Infinity ? 'no limit of iterations' : `at most ${count(plan.maxIterations, 'iteration')}`;
  const own = `the agent's own rules; nothing is approved for it (--allow-all would)${unlessAllowed ? `: ${unlessAllowed}` : ''}`;
  const min = plan.minIterations === 1 ? '' : `, not before iteration ${plan.minIterations}`;
  return [
    `Change       ${plan.change}${plan.module === null ? '' : ` (module ${plan.module})`}`,
    `Agent        ${agents.join('; if that cannot work: ')}`,
    `Permissions  ${plan.allowAll ? 'everything is allowed without asking (--allow-all)' : own}`,
    `Until        <promise>${plan.completionPromise}</promise>${min}, ${max}`,
  ];
};

const mentions = (record: IterationRecord): string[] =>
  record.mentions.map(({ words, why }) => `  Not counted, ${why}: ${oneLine(words).slice(-200)}`);

const summary = (record: IterationRecord, { paint }: Terminal): string => {
  const took = duration(record.durationMs);
  const work =
    record.git === null ? 'no git' : `${count(record.git.filesChanged, 'file')} changed (${lineChanges(record.git)})`;
  const commit = record.commit === null ? [] : [`commit ${record.commit.slice(0, 8)}`];
  const used = usageText(record.usage);
  const facts = [took, work, ...commit, ...(used ? [used] : [])].join(', ');
  if (record.completionFound) return paint('green', `Promise found: ${facts}`);
  if (record.rejected !== null) return paint('red', `Promise rejected, ${oneLine(record.rejected)}: ${facts}`);
  if (failed(record)) return paint('red', `Failed, ${oneLine(record.error?.message ?? '')}: ${facts}`);
  return `No promise yet: ${facts}`;
};
