import type { ComponentChildren } from 'preact';
import { memo } from './memo.ts';
import type { AgentEvent, JournalEntry } from '../../api.ts';
import { duration, pluralise } from '../../../text/duration.ts';
import { displayKind } from '../../../text/display-kind.ts';
import { BlockedIcon, CrossIcon, EditIcon, WarningIcon, ShellIcon, ToolIcon } from '../parts/icons.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { exactTime } from '../parts/time.tsx';

interface ToolCall {
  readonly tool: string;
  readonly title: string;
  result: 'open' | 'done' | 'failed' | 'denied';
}

type Item =
  | { readonly type: 'tools'; readonly key: number; readonly calls: ToolCall[] }
  | { readonly type: 'plain'; readonly key: number; readonly kind: 'text' | 'stderr'; text: string }
  | { readonly type: 'entry'; readonly key: number; readonly entry: JournalEntry };

/** The entries of a journal, with tool calls in groups. */
export const Entries = ({ entries }: { readonly entries: readonly JournalEntry[] }) => (
  <>
    {itemsOf(entries).map((item) => {
      switch (item.type) {
        case 'tools':
          return <Tools key={item.key} calls={item.calls} />;
        case 'plain':
          return (
            <pre key={item.key} class={`plain is-${item.kind}`}>
              {item.text}
            </pre>
          );
        case 'entry':
          return <Entry key={item.key} entry={item.entry} />;
      }
    })}
  </>
);

const itemsOf = (entries: readonly JournalEntry[]): Item[] => {
  const items: Item[] = [];
  const open: ToolCall[] = [];
  for (const entry of entries) add(items, open, entry);
  return items;
};

/** `open` are the calls without a result. */
const add = (items: Item[], open: ToolCall[], entry: JournalEntry): void => {
  const { event, seq } = entry;
  const last = items.at(-1);
  if (event.type !== 'agent' && event.type !== 'reviewer') {
    items.push({ type: 'entry', key: seq, entry });
    return;
  }
  const agent = event.event;
  if (agent.type === 'usage') return;
  if (agent.type === 'tool') {
    const call: ToolCall = { tool: agent.tool, title: agent.title, result: 'open' };
    open.push(call);
    if (last?.type === 'tools') last.calls.push(call);
    else items.push({ type: 'tools', key: seq, calls: [call] });
    return;
  }
  if (agent.type === 'tool-result') {
    finish(open, agent);
    return;
  }
  if (agent.type === 'stderr' || (agent.type === 'text' && agent.plain)) {
    const kind = agent.type;
    if (last?.type === 'plain' && last.kind === kind) last.text += agent.text;
    else items.push({ type: 'plain', key: seq, kind, text: agent.text });
    return;
  }
  items.push({ type: 'entry', key: seq, entry });
};

/** A result belongs to the earliest call of that tool which has none. */
const finish = (open: ToolCall[], result: Extract<AgentEvent, { type: 'tool-result' }>): void => {
  const at = open.findIndex(({ tool }) => tool === result.tool);
  const [call] = open.splice(at === -1 ? open.length - 1 : at, 1);
  if (call) call.result = result.denied ? 'denied' : result.failed ? 'failed' : 'done';
};

const toolIcons = { shell: ShellIcon, edit: EditIcon, other: ToolIcon };

const Tools = ({ calls }: { readonly calls: readonly ToolCall[] }) => {
  const failures = calls.filter(({ result }) => result === 'failed').length;
  const denials = calls.filter(({ result }) => result === 'denied').length;
  if (calls.length === 1) return <Call call={calls[0]!} />;
  return (
    <details class="tools">
      <summary>
        <ToolIcon />
        {pluralise(calls.length, 'tool call')}
        <span class="quiet tools-names">{namesOf(calls)}</span>
        {failures > 0 && <span class="label tone-bad">{failures} failed</span>}
        {denials > 0 && <span class="label tone-warn">{denials} denied</span>}
      </summary>
      {calls.map((call, index) => (
        <Call key={index} call={call} />
      ))}
    </details>
  );
};

const namesOf = (calls: readonly ToolCall[]): string => {
  const counts = new Map<string, number>();
  for (const { tool } of calls) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  return [...counts].map(([tool, count]) => (count === 1 ? tool : `${tool} ×${count}`)).join(', ');
};

const Call = ({ call }: { readonly call: ToolCall }) => {
  const kind = displayKind(call.tool);
  const Icon = toolIcons[kind];
  return (
    <div class={`call is-${call.result}`}>
      <Icon />
      <code class="call-title">{call.title === '' ? call.tool : call.title}</code>
      {kind === 'other' && call.title !== '' && <span class="quiet">{call.tool}</span>}
      {call.result === 'failed' && <span class="label tone-bad">failed</span>}
      {call.result === 'denied' && <span class="label tone-warn">denied</span>}
    </div>
  );
};

const requestWords = {
  stop: 'Stop requested',
  'stop-after-iteration': 'Stop after this iteration requested',
  pause: 'Pause requested',
  resume: 'Resume requested',
};

type Of<Type extends JournalEntry['event']['type']> = JournalEntry['event'] & { readonly type: Type };

interface StepProps {
  /** Missing for a step whose text says when it was. */
  readonly at?: string;
  readonly isWarning?: boolean;
  readonly children: ComponentChildren;
}

const Step = ({ at, isWarning = false, children }: StepProps) => (
  <p class={isWarning ? 'step tone-warn' : 'step'} title={at === undefined ? undefined : exactTime(at)}>
    {children}
  </p>
);

const Entry = memo(({ entry }: { readonly entry: JournalEntry }) => {
  const { event, at } = entry;
  switch (event.type) {
    case 'reviewer':
    case 'agent':
      return <AgentMessage event={event.event} at={at} />;
    case 'iteration-started':
    case 'iteration-finished':
      return <IterationStep event={event} at={at} />;
    case 'agent-switched':
    case 'waiting':
    case 'attempt-deferred':
      return <DelayStep event={event} at={at} />;
    case 'gate-started':
    case 'review-started':
    case 'review-finished':
      return <CheckStep event={event} at={at} />;
    case 'requested':
    case 'paused':
    case 'resumed':
      return <PauseStep event={event} at={at} />;
    case 'tasks-changed':
      return (
        <Step at={at}>
          {event.tasks.done}/{event.tasks.total} tasks done
        </Step>
      );
    case 'notice':
      return <Step>{event.text}</Step>;
    case 'run-ended':
      return <Step at={at}>The run ended: {event.detail}</Step>;
    case 'run-started':
    case 'iteration-pending':
      return null;
  }
});

interface EventProps<Type extends JournalEntry['event']['type']> {
  readonly event: Of<Type>;
  readonly at: string;
}

const IterationStep = ({ event, at }: EventProps<'iteration-started' | 'iteration-finished'>) =>
  event.type === 'iteration-started' ? (
    <Step at={at}>
      Iteration {event.iteration} started with {event.agent.harness}
      {event.agent.model !== null && ` (${event.agent.model})`}
    </Step>
  ) : (
    <Step at={at}>
      Iteration {event.record.iteration} finished after {duration(event.record.durationMs)}
      {event.record.rejected !== null && `. Promise rejected: ${event.record.rejected}`}
    </Step>
  );

const DelayStep = ({ event, at }: EventProps<'agent-switched' | 'waiting' | 'attempt-deferred'>) => {
  switch (event.type) {
    case 'agent-switched':
      return (
        <Step at={at} isWarning>
          Agent: {event.switched.to}, because {event.switched.why}
        </Step>
      );
    case 'waiting':
      return (
        <Step at={at} isWarning>
          Waiting: {event.why}, until {exactTime(event.untilMs)}
        </Step>
      );
    case 'attempt-deferred':
      return (
        <Step at={at} isWarning>
          The attempt was deferred{event.attempt.error !== null && `: ${event.attempt.error.message}`}
        </Step>
      );
  }
};

const CheckStep = ({ event, at }: EventProps<'gate-started' | 'review-started' | 'review-finished'>) => {
  switch (event.type) {
    case 'gate-started':
      return <Step at={at}>Verifying: {event.commands.join('; ')}</Step>;
    case 'review-started':
      return (
        <Step at={at}>
          Review by {event.agent.harness}
          {event.agent.model !== null && ` (${event.agent.model})`}
          {event.attempt > 1 && ', again'}
        </Step>
      );
    case 'review-finished':
      return <Step at={at}>Review: {event.review.verdict?.toUpperCase() ?? `no verdict, ${event.review.reason}`}</Step>;
  }
};

const PauseStep = ({ event, at }: EventProps<'requested' | 'paused' | 'resumed'>) => {
  switch (event.type) {
    case 'requested':
      return <Step at={at}>{requestWords[event.command]}</Step>;
    case 'paused':
      return <Step isWarning>Paused at {exactTime(event.at)}</Step>;
    case 'resumed':
      return <Step>Resumed after {duration(event.pausedMs)}</Step>;
  }
};

const AgentMessage = ({ event, at }: { readonly event: AgentEvent; readonly at: string }) => {
  switch (event.type) {
    case 'text':
      return (
        <div class="message" title={exactTime(at)}>
          <Markdown text={event.text} />
        </div>
      );
    case 'reasoning':
      return (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <Markdown text={event.text} />
        </details>
      );
    case 'error':
      return (
        <div class="finding tone-bad">
          <CrossIcon />
          <div>
            <strong>Error ({event.kind})</strong>
            <p>{event.message}</p>
          </div>
        </div>
      );
    case 'denied':
      return (
        <div class="finding tone-warn">
          {event.byRule ? <BlockedIcon /> : <WarningIcon />}
          <div>
            <strong>Denied: {event.tool}</strong>
            {event.reason !== undefined && <p>{event.reason}</p>}
            <p>{event.message}</p>
          </div>
        </div>
      );
    case 'tool':
    case 'tool-result':
    case 'usage':
    case 'stderr':
      return null;
  }
};
