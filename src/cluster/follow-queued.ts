import { asUserError } from '../errors.ts';
import type { RunView } from '../ralph/view.ts';
import { createLineFolder } from '../store/fold-lines.ts';
import type { FollowedEvent } from '../store/follow.ts';
import { dayTime } from '../text/format.ts';
import type { ChangeKey, ChangeRow, ChangeState } from './change-row.ts';
import type { Database } from './database.ts';
import { createLineReader, type Line, maxLines } from './events.ts';
import { type ListedChange, findQueued, isActive } from './queue.ts';
import { createWake } from './wake.ts';

export interface FollowQueuedOptions {
  /** The run to follow; null for the one that comes next. */
  readonly run: string | null;
  readonly fromIteration: number;
  /** false: ends with the last event that there is now. */
  readonly wait: boolean;
  readonly signal: AbortSignal;
  /** Called whenever all that there is has been read. */
  readonly onIdle?: () => void;
  /** Called when the queue cannot be reached, once for each time. */
  readonly onTrouble: (problem: string) => void;
}

/** As often as workers copy events. They do not notify: Postgres wakes every listening worker for every notification. */
const pollMs = 500;

/**
 * Yields the events of a change that workers run, as `followRun` does for one on this machine. It continues with the
 * worker that takes over, and while no worker has the change. Ends when the change has ended in the queue: only that
 * decides, because agents can write to the journal of a worker.
 */
export async function* followQueued(
  database: Database,
  key: ChangeKey,
  options: FollowQueuedOptions,
): AsyncGenerator<FollowedEvent, void, undefined> {
  const { wait, signal, onTrouble } = options;
  const wake = createWake(signal);
  if (wait) database.listen({ spool_queue: wake.now });
  const follower = createFollower(database, key, options);
  let isCutOff = false;
  while (!signal.aborted) {
    try {
      const next = yield* follower.readOn();
      isCutOff = false;
      if (next === 'ended') return;
      if (next === 'more') continue;
    } catch (error) {
      if (!wait || asUserError(error) === null) throw error;
      if (!isCutOff) onTrouble((error as Error).message);
      isCutOff = true;
    }
    await wake.within(pollMs);
  }
}

/** A run whose lines are read. */
interface FollowedRun {
  readonly run: string;
  readonly fold: ReturnType<typeof createLineFolder>;
  readonly read: (after: number) => Promise<Line[]>;
  /** The queue had this run. Another one then means that its worker was lost before it could push anything of it. */
  wasCurrent: boolean;
  /** The end of an attempt, which is the end of the run only if the queue says so. */
  end: FollowedEvent | null;
}

const createFollower = (database: Database, key: ChangeKey, options: FollowQueuedOptions) => {
  const { fromIteration, wait, onIdle } = options;
  const open = (run: string, from: number): FollowedRun => ({
    run,
    fold: createLineFolder({ run, fromIteration: from }),
    read: createLineReader(database, key, { run, fromIteration: from }),
    wasCurrent: false,
    end: null,
  });
  let followed = options.run === null ? null : open(options.run, fromIteration);
  /** The run that the queue had at first, if the next one is to be followed. */
  let before: string | null = null;
  let lastId = 0;
  let view: RunView | null = null;
  let notified = '';

  /** Opens the next run, if none is followed yet. */
  const openNext = (row: ListedChange): void => {
    before ??= row.run ?? '';
    if (row.run !== null && (row.run !== before || row.state === 'running')) followed = open(row.run, fromIteration);
  };
  async function* newEvents(of: FollowedRun): AsyncGenerator<FollowedEvent, void, undefined> {
    for (;;) {
      const lines = await of.read(lastId);
      for (const { id, line } of lines) {
        lastId = id;
        const folded = of.fold(line);
        if (folded.kind !== 'event') continue;
        of.end = folded.view.status !== 'running' && folded.event.type === 'run-ended' ? folded : null;
        if (of.end !== null) continue;
        notified = '';
        view = folded.view;
        yield { event: folded.event, view: folded.view, line: folded.line };
      }
      if (lines.length < maxLines) return;
    }
  }
  function* lastEvents(row: ListedChange, isOver: boolean): Generator<FollowedEvent, void, undefined> {
    const end = followed?.end ?? null;
    if (end !== null && (row.run !== followed?.run || agrees(row.state, end.view.status))) yield end;
    else if (view !== null && isOver) yield { event: null, view: endOf(row, view) };
  }
  function* newNotices(row: ListedChange): Generator<FollowedEvent, void, undefined> {
    const text = noticeOf(row);
    if (text !== '' && text !== notified && view !== null) yield { event: { type: 'notice', text }, view };
    notified = text;
  }

  return {
    /** Yields what is new. Returns whether there may be more at once, or later. */
    async *readOn(): AsyncGenerator<FollowedEvent, 'ended' | 'more' | 'later', undefined> {
      // Before the lines are read: those that it has at its end are then shown.
      const row = await findQueued(database, key);
      if (row === null) return 'ended';
      if (followed === null) openNext(row);
      if (followed !== null) {
        yield* newEvents(followed);
        followed.wasCurrent ||= row.run === followed.run;
        if (wait && isReplaced(followed, row)) {
          followed = open(row.run!, 1);
          return 'more';
        }
      }
      onIdle?.();
      const isOver = !isActive(row) || (followed !== null && row.run !== followed.run);
      if (isOver || !wait) {
        yield* lastEvents(row, isOver);
        return 'ended';
      }
      yield* newNotices(row);
      return 'later';
    },
  };
};

/** Whether the queue has another run now, although this one has not ended. */
const isReplaced = ({ run, wasCurrent, end }: FollowedRun, row: ListedChange): boolean =>
  wasCurrent && isActive(row) && row.run !== null && row.run !== run && !hasEnded(end);

/** Not if it was interrupted: another worker continues it, or begins again. */
const hasEnded = (end: FollowedEvent | null): boolean => end !== null && end.view.status !== 'interrupted';

/** The states in which a change ends, with the status of its run. */
const statusOf: Readonly<Partial<Record<ChangeState, RunView['status']>>> = {
  stopped: 'interrupted',
  complete: 'complete',
  failed: 'failed',
  limit: 'limit',
  blocked: 'blocked',
};

const agrees = (state: ChangeState, status: RunView['status']): boolean =>
  (statusOf[state] ?? 'interrupted') === status;

/** The end of a run about which there is no event. */
const endOf = (row: ChangeRow, view: RunView): RunView => ({
  ...view,
  status: statusOf[row.state] ?? 'interrupted',
  detail: row.detail ?? view.detail,
});

/** What happens while no worker has the change. */
const noticeOf = ({ state, detail, available_at: at, is_silent: isSilent, host }: ListedChange): string => {
  if (isSilent) return `No sign of its worker on ${host ?? 'its machine'}: another worker takes over.`;
  switch (state) {
    case 'waiting':
      return `Waiting until ${dayTime(at)}${detail === null ? '' : `: ${detail}`}. Any worker continues.`;
    case 'queued':
      return 'Queued: the next free worker continues.';
    case 'paused':
      return 'Paused.';
    default:
      return '';
  }
};
