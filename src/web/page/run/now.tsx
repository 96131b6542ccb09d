import type { JournalEntry } from '../../api.ts';
import { displayKind } from '../../../text/display-kind.ts';
import { countdown, duration } from '../../../text/duration.ts';
import { useNow } from '../state/clock.ts';
import type { RunState } from '../state/run-state.ts';

/** What the run does at this moment. */
export const Now = ({ state }: { readonly state: RunState }) => {
  const { detail, entries } = state;
  const { view } = detail;
  const now = useNow(detail.status === 'running');
  if (detail.status !== 'running' || view === null) return null;
  if (view.waiting !== null)
    return (
      <p class="now">
        Waiting: {view.waiting.why}, for another {duration(countdown(view.waiting.untilMs, now))}
      </p>
    );
  if (view.pausedAt) return <p class="now">Paused. The agent is not running.</p>;
  const asked = view.requested ?? null;
  const text = lastActivity(entries) ?? detail.activity?.text ?? null;
  return (
    <p class="now">
      <span class="now-label">Now</span>
      <span class="now-text">{text ?? 'Starting the agent'}</span>
      {asked !== null && <span class="label tone-warn">{askedWords[asked]}</span>}
    </p>
  );
};

const askedWords = {
  stop: 'stopping',
  'stop-after-iteration': 'stops after this iteration',
  pause: 'pauses after this iteration',
};

const lastActivity = (entries: readonly JournalEntry[]): string | null => {
  for (let at = entries.length - 1; at >= 0 && at > entries.length - 50; at--) {
    const text = activityOf(entries[at]!);
    if (text !== null) return text;
  }
  return null;
};

const activityOf = ({ event }: JournalEntry): string | null => {
  if (event.type === 'gate-started') return `Verifying: ${event.commands.join('; ')}`;
  if (event.type === 'iteration-started') return `Iteration ${event.iteration} started`;
  if (event.type === 'notice' && event.activity !== undefined) return event.text;
  if (event.type === 'review-started') return `Reviewed by ${event.agent.harness}`;
  if (event.type !== 'agent' && event.type !== 'reviewer') return null;
  if (event.event.type === 'tool') return toolLine(event.event);
  if (event.event.type === 'text' || event.event.type === 'reasoning') return lastLine(event.event.text);
  return null;
};

/** `$ npm test`, `✎ src/a.ts` */
const toolLine = ({ tool, title }: { readonly tool: string; readonly title: string }): string => {
  if (title === '') return tool;
  return { shell: `$ ${title}`, edit: `✎ ${title}`, other: `${tool} ${title}` }[displayKind(tool)];
};

const lastLine = (text: string): string | null => text.trim().split('\n').at(-1)?.trim() || null;
