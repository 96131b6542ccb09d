import type { RunEvent } from '../ralph/events.ts';
import type { TaskCount } from '../ralph/record.ts';
import type { RunView } from '../ralph/view.ts';
import type { FollowedEvent } from '../store/follow.ts';
import type { Display } from './display.ts';
import type { Terminal } from './terminal.ts';

export interface ReplayRequest {
  /** Those of a run from its first one on. */
  readonly events: AsyncIterable<FollowedEvent>;
  /** The first iteration that is shown. */
  readonly iteration: number;
  /** Show later iterations as well, and wait for them until the run ends. */
  readonly follow: boolean;
  /** Show only the reviews. */
  readonly onlyReviews?: boolean;
  readonly display: Display;
  /** Aborted to stop. */
  readonly signal: AbortSignal;
  readonly drained: Terminal['drained'];
}

export interface Replayed {
  /** The run after its last event; null if its journal is missing. */
  readonly view: RunView | null;
  /** The iteration was in the journal. */
  readonly wasShown: boolean;
  /** The process of the run is gone, and has not said why. */
  readonly isGone: boolean;
}

const reviewEvents: ReadonlySet<RunEvent['type']> = new Set(['review-started', 'reviewer', 'review-finished']);

interface Shown<Event extends RunEvent = RunEvent> {
  readonly event: Event;
  readonly view: RunView;
}

/** Shows a run from its events as it was shown when it happened, from one iteration on, after the header of the run. */
export const replay = async (request: ReplayRequest): Promise<Replayed> => {
  const { events, iteration, follow, onlyReviews = false, display, signal, drained } = request;
  let header: Shown<Extract<RunEvent, { readonly type: 'run-started' }>> | null = null;
  let tasks: TaskCount | null = null;
  let last: RunView | null = null;
  let wasShown = false;
  const withoutNext = follow ? (shown: Shown) => [shown] : createNextStartFilter();
  for await (const { event, view } of events) {
    last = view;
    if (event === null) return { view, wasShown, isGone: true };
    if (event.type === 'iteration-started' && event.iteration > iteration && !follow) break;
    if (!wasShown && event.type === 'run-started') header = { event, view };
    if (event.type === 'iteration-started' && event.iteration >= iteration && !wasShown) {
      // The tasks in the header are those of this iteration.
      if (header !== null && !onlyReviews) display.onEvent({ ...header.event, ...(tasks && { tasks }) }, header.view);
      display.joinAt?.(tasks);
      wasShown = true;
    }
    tasks = tasksAfter(event, tasks);
    // How it ended is shown by `spool status`.
    if (!wasShown || (event.type === 'run-ended' && !follow)) continue;
    if (onlyReviews && !reviewEvents.has(event.type)) continue;
    for (const shown of withoutNext({ event, view })) display.onEvent(shown.event, shown.view);
    await drained(signal);
  }
  return { view: last, wasShown, isGone: false };
};

const tasksAfter = (event: RunEvent, before: TaskCount | null): TaskCount | null => {
  if (event.type === 'run-started') return event.tasks ?? null;
  if (event.type === 'tasks-changed') return event.tasks;
  return event.type === 'iteration-finished' ? (event.record.tasks ?? before) : before;
};

/** Events between iterations. They belong to the next one if a new start of the run is among them. */
const betweenIterations: ReadonlySet<RunEvent['type']> = new Set([
  'run-started',
  'notice',
  'agent-switched',
  'waiting',
  'requested',
  'paused',
  'resumed',
]);

/**
 * Leaves out what comes between the last event of the shown iteration and the next start of the run. It is held back
 * until another event of the iteration shows that it belongs to it (a killed iteration is repeated).
 */
const createNextStartFilter = () => {
  let isOver = false;
  let isRestarted = false;
  let held: Shown[] = [];
  return (shown: Shown): readonly Shown[] => {
    const { type } = shown.event;
    if (type === 'run-started') isRestarted = true;
    if (betweenIterations.has(type)) {
      // Nothing overtakes a held event.
      if (!isRestarted && held.length === 0 && !(isOver && type === 'notice')) return [shown];
      held.push(shown);
      return [];
    }
    const released = [...held, shown];
    held = [];
    isRestarted = false;
    isOver = type === 'iteration-finished';
    return released;
  };
};
