import type { RunEvent } from '../ralph/events.ts';
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

/** Shows a run from its events as it was shown when it happened, from one iteration on, after the header of the run. */
export const replay = async (request: ReplayRequest): Promise<Replayed> => {
  const { events, iteration, follow, onlyReviews = false, display, signal, drained } = request;
  let header: { readonly event: RunEvent; readonly view: RunView } | null = null;
  let last: RunView | null = null;
  let wasShown = false;
  for await (const { event, view } of events) {
    last = view;
    if (event === null) return { view, wasShown, isGone: true };
    if (event.type === 'iteration-started' && event.iteration > iteration && !follow) break;
    if (!wasShown && event.type === 'run-started') header = { event, view };
    if (event.type === 'iteration-started' && event.iteration >= iteration && !wasShown) {
      if (header !== null && !onlyReviews) display.onEvent(header.event, header.view);
      wasShown = true;
    }
    // How it ended is shown by `spool status`.
    if (!wasShown || (event.type === 'run-ended' && !follow)) continue;
    if (onlyReviews && !reviewEvents.has(event.type)) continue;
    display.onEvent(event, view);
    await drained(signal);
  }
  return { view: last, wasShown, isGone: false };
};
