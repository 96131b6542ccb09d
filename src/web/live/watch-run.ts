import { currentStatus, type RunView } from '../../ralph/view.ts';
import type { RunDetail } from '../api.ts';
import { sendSnapshot } from './greet.ts';
import { sleep } from '../../process/timers.ts';
import type { RunFeed } from './run-feed.ts';

/** How often an ended run is looked at. */
const idleMs = 1000;

/**
 * Follows a run to its end, and then looks whether it was resumed. Resolves when that may be so, or when it is aborted.
 * `greetAll` is called when the clients that wait can be greeted.
 */
export const watchRun = async (feed: RunFeed, greetAll: () => Promise<void>, signal: AbortSignal): Promise<void> => {
  const { source, detail, clients, texts } = feed;
  const stamp = await source.stamp();
  const found = await source.detail();
  if (found.isLatest && found.status === 'running') {
    await followToEnd(feed, { from: found.lastIteration, greetAll, signal });
    if (signal.aborted) return;
  } else await showEnded(feed, found);
  detail.drop();
  feed.isCaughtUp = true;
  await greetAll();
  if (!found.isLatest && found.row.run !== null && found.row.run !== source.run)
    clients.send(texts.message({ type: 'superseded', run: found.row.run }));
  while (!signal.aborted && (await source.stamp()) === stamp) {
    await sleep(idleMs, signal);
    await greetAll();
  }
  detail.drop();
};

interface FollowRequest {
  readonly from: number;
  readonly greetAll: () => Promise<void>;
  readonly signal: AbortSignal;
}

const followToEnd = async (feed: RunFeed, { from, greetAll, signal }: FollowRequest): Promise<void> => {
  feed.isCaughtUp = false;
  const isResumed = feed.view.last() !== null;
  const onIdle = () => {
    // The clients have seen the run before it was resumed.
    if (isResumed && !feed.isCaughtUp) void sendSnapshot(feed).catch(() => feed.clients.end());
    feed.isCaughtUp = true;
    void greetAll();
  };
  for await (const followed of feed.source.follow({ fromIteration: from, signal, onIdle })) feed.add(followed);
  if (signal.aborted) return;
  feed.isCaughtUp = true;
  feed.sendEntries();
  const last = feed.view.last();
  if (last !== null) feed.sendEnd(endedView(last));
};

/** A run that is not running may have been resumed and ended since the clients have seen it. */
const showEnded = async (feed: RunFeed, found: RunDetail): Promise<void> => {
  const before = feed.view.last();
  const last = found.view && endedView(found.view);
  const hasEndedAgain = before !== null && last !== null && endOf(before) !== endOf(last);
  feed.view.set(last);
  feed.detail.drop();
  if (!hasEndedAgain) return;
  await sendSnapshot(feed);
  feed.sendEnd(last);
};

const endedView = (view: RunView): RunView => ({ ...view, status: currentStatus(view, false) });

/** Tells two ends of a run apart. */
const endOf = ({ status, iteration, finishedIterations, endedAt }: RunView): string =>
  JSON.stringify([status, iteration, finishedIterations, endedAt]);
