import type { RunView } from '../../ralph/view.ts';
import type { FollowedEvent } from '../../store/follow.ts';
import type { JournalEntry, RunDetail, RunMessage } from '../api.ts';
import type { RunSource } from '../read/run-source.ts';
import { createShared, type Shared } from '../read/shared.ts';
import type { Clients } from './clients.ts';
import { createRecentEntries, type RecentEntries } from './entries.ts';
import { createLiveView, type LiveView } from './live-view.ts';
import { createRunTexts, type RunTexts } from './run-texts.ts';

/** What is sent to the clients of one run. */
export interface RunFeed {
  readonly source: RunSource;
  readonly clients: Clients;
  readonly texts: RunTexts;
  readonly recent: RecentEntries;
  readonly view: LiveView;
  readonly detail: Shared<RunDetail>;
  /** Everything written so far has been read: new events are sent as they happen. */
  isCaughtUp: boolean;
  add(followed: FollowedEvent): void;
  /** Sends the entries that were collected. */
  sendEntries(): void;
  sendEnd(last: RunView): void;
  /** Discards the entries that were collected. */
  cancel(): void;
}

/** How long entries are collected into one message. */
const collectMs = 50;
const maxCollected = 200;
/** How often the view is sent. */
const viewMs = 250;
/** How old a snapshot may be when several clients come at once. */
const snapshotMs = 250;

export const createRunFeed = (
  source: RunSource,
  toJson: (message: RunMessage) => string,
  clients: Clients,
): RunFeed => {
  const texts = createRunTexts(source.run, toJson);
  const [recent, view] = [createRecentEntries(), createLiveView()];
  let collected: JournalEntry[] = [];
  let lastTasks = '';
  const entriesTimer = createTimer(() => {
    if (collected.length > 0) clients.send(texts.entries(collected));
    collected = [];
  });
  const viewTimer = createTimer(() => clients.send(texts.view(view)));
  const sendTasks = async () => {
    const tasks = await source.tasks().catch(() => null);
    const text = JSON.stringify(tasks);
    if (text !== lastTasks) clients.send(texts.message({ type: 'tasks', tasks }));
    lastTasks = text;
  };
  const feed: RunFeed = {
    source,
    clients,
    texts,
    recent,
    view,
    detail: createShared(source.detail, snapshotMs),
    isCaughtUp: false,
    add: ({ event, view: next, line }) => {
      if (event === null || line === undefined) return view.set(next);
      const entry = { ...line, event };
      view.set(next, Date.parse(line.at));
      recent.add(entry, JSON.stringify(entry).length);
      if (!feed.isCaughtUp) return;
      collected.push(entry);
      if (collected.length >= maxCollected) entriesTimer.now();
      else entriesTimer.within(collectMs);
      if (event.type !== 'agent' || event.event.type === 'usage') viewTimer.within(viewMs);
      if (event.type === 'tasks-changed' || event.type === 'iteration-finished') void sendTasks();
    },
    sendEntries: entriesTimer.now,
    sendEnd: (last) => {
      view.set(last);
      clients.send(texts.message({ type: 'ended', view: last, status: last.status }));
    },
    cancel: () => {
      entriesTimer.cancel();
      viewTimer.cancel();
    },
  };
  return feed;
};

/** Calls `work` once for several calls of `within`. */
const createTimer = (work: () => void) => {
  let timer: NodeJS.Timeout | null = null;
  const cancel = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  const now = () => {
    cancel();
    work();
  };
  return { cancel, now, within: (ms: number) => void (timer ??= setTimeout(now, ms)) };
};
