import type { RunView } from '../ralph/view.ts';
import { createLineFolder } from '../store/fold-lines.ts';
import type { FollowedEvent } from '../store/follow.ts';
import { dayTime } from '../text/format.ts';
import type { ChangeKey, ChangeRow, ChangeState } from './change-row.ts';
import type { Database } from './database.ts';
import { createLineReader, type Line, maxLines } from './events.ts';
import { type ListedChange, findQueued, isActive } from './queue.ts';

export interface FollowerOptions {
  readonly database: Database;
  readonly key: ChangeKey;
  /** The run to follow; null for the one that comes next. */
  readonly run: string | null;
  readonly fromIteration: number;
  /** false: ends with the last event that there is now. */
  readonly wait: boolean;
  /** Called whenever all that there is has been read. */
  readonly onIdle?: (() => void) | undefined;
}

/** Reads a change in the queue, each time from where it was. */
export interface Follower extends FollowerOptions {
  followed: FollowedRun | null;
  /** The run that the queue had at first, if the next one is to be followed. */
  before: string | null;
  lastId: number;
  view: RunView | null;
  /** The last notice. */
  notified: string;
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

type Events = Generator<FollowedEvent, void, undefined>;

export const createFollower = (options: FollowerOptions): Follower => ({
  ...options,
  followed: options.run === null ? null : openRun(options, options.run, options.fromIteration),
  before: null,
  lastId: 0,
  view: null,
  notified: '',
});

/** Yields what is new. Returns whether there may be more at once, or later. */
export async function* readOn(
  follower: Follower,
): AsyncGenerator<FollowedEvent, 'ended' | 'more' | 'later', undefined> {
  const { database, key, wait, onIdle } = follower;
  // Before the lines are read: those that it has at its end are then shown.
  const row = await findQueued(database, key);
  if (row === null) return 'ended';
  follower.followed ??= nextRun(follower, row);
  const { followed } = follower;
  if (followed !== null) {
    yield* newEvents(follower, followed);
    followed.wasCurrent ||= row.run === followed.run;
    if (wait && isReplaced(followed, row)) {
      follower.followed = openRun(follower, row.run!, 1);
      return 'more';
    }
  }
  onIdle?.();
  const isOver = !isActive(row) || (followed !== null && row.run !== followed.run);
  if (isOver || !wait) {
    yield* lastEvents(follower, row, isOver);
    return 'ended';
  }
  yield* newNotices(follower, row);
  return 'later';
}

const openRun = ({ database, key }: FollowerOptions, run: string, fromIteration: number): FollowedRun => ({
  run,
  fold: createLineFolder({ run, fromIteration }),
  read: createLineReader(database, key, { run, fromIteration }),
  wasCurrent: false,
  end: null,
});

/** Opens the next run, if there is one yet. */
const nextRun = (follower: Follower, row: ListedChange): FollowedRun | null => {
  follower.before ??= row.run ?? '';
  const isNext = row.run !== null && (row.run !== follower.before || row.state === 'running');
  return isNext ? openRun(follower, row.run, follower.fromIteration) : null;
};

async function* newEvents(follower: Follower, run: FollowedRun): AsyncGenerator<FollowedEvent, void, undefined> {
  for (;;) {
    const lines = await run.read(follower.lastId);
    for (const { id, line } of lines) {
      follower.lastId = id;
      const folded = run.fold(line);
      if (folded.kind !== 'event') continue;
      run.end = folded.view.status !== 'running' && folded.event.type === 'run-ended' ? folded : null;
      if (run.end !== null) continue;
      follower.notified = '';
      follower.view = folded.view;
      yield { event: folded.event, view: folded.view, line: folded.line };
    }
    if (lines.length < maxLines) return;
  }
}

function* lastEvents({ followed, view }: Follower, row: ListedChange, isOver: boolean): Events {
  const end = followed?.end ?? null;
  if (end !== null && (row.run !== followed?.run || agrees(row.state, end.view.status))) yield end;
  else if (view !== null && isOver) yield { event: null, view: endOf(row, view) };
}

function* newNotices(follower: Follower, row: ListedChange): Events {
  const { view, notified } = follower;
  const text = noticeOf(row);
  if (text !== '' && text !== notified && view !== null) yield { event: { type: 'notice', text }, view };
  follower.notified = text;
}

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
