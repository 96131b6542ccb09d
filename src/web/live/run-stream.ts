import { currentStatus, type RunView } from '../../ralph/view.ts';
import type { FollowedEvent } from '../../store/follow.ts';
import type { JournalEntry, RunDetail, RunMessage } from '../api.ts';
import type { RunSource } from '../read/run-source.ts';
import { createShared } from '../read/shared.ts';
import { summarise } from '../read/summarise.ts';
import { type Client, messageText } from './client.ts';
import { createClients } from './clients.ts';
import { createRecentEntries } from './entries.ts';
import { createWorkerLoop, sleep } from './worker-loop.ts';

export interface RunStream {
  open(client: Client): void;
  close(): void;
}

export interface RunStreamOptions {
  readonly source: RunSource;
  readonly toJson: (message: RunMessage) => string;
  /** Called when the last client has left. */
  readonly onIdle: () => void;
}

/** How long entries are collected into one message. */
const collectMs = 50;
const maxCollected = 200;
/** How often the view is sent. */
const viewMs = 250;
/** How often an ended run is looked at. */
const idleMs = 1000;
/** How long a run is followed after the last client has left: a page that is loaded again needs it at once. */
const lingerMs = 3000;
/** How old a snapshot may be when several clients come at once. */
const snapshotMs = 250;

/** Follows one run, once for all its clients, while there are any. */
export const createRunStream = (options: RunStreamOptions): RunStream => {
  const { source, toJson } = options;
  const { run } = source;
  const detail = createShared(source.detail, snapshotMs);
  const recent = createRecentEntries();
  let view: RunView | null = null;
  /** When the event happened up to which the view counts the running time. */
  let viewAtMs = 0;
  let isCaughtUp = false;
  let collected: JournalEntry[] = [];
  let collecting: NodeJS.Timeout | null = null;
  let viewTimer: NodeJS.Timeout | null = null;
  let lastTasks = '';
  const greeting = new WeakSet<Client>();
  let lingering: NodeJS.Timeout | null = null;

  const idOf = (seq: number) => `${run}.${seq}`;
  const send = (message: RunMessage, id: string | null = null) => clients.send(messageText(toJson(message), id));
  const sendEntries = () => {
    if (collecting !== null) clearTimeout(collecting);
    collecting = null;
    if (collected.length === 0) return;
    const entries = collected;
    collected = [];
    messagesOf(entries).forEach(({ message, seq }) => send(message, seq === null ? null : idOf(seq)));
  };
  /** The view with its running time until now. */
  const viewAt = (last: RunView, nowMs: number): RunView =>
    last.status === 'running' && viewAtMs > 0
      ? { ...last, elapsedMs: Math.round(last.elapsedMs + Math.max(0, nowMs - viewAtMs)) }
      : last;
  const viewMessage = (last: RunView): RunMessage => {
    const now = new Date();
    return { type: 'view', view: viewAt(last, now.getTime()), status: last.status, now: now.toISOString() };
  };
  const sendView = () => {
    if (viewTimer !== null) clearTimeout(viewTimer);
    viewTimer = null;
    if (view !== null) send(viewMessage(view));
  };
  const sendEnd = (last: RunView) => {
    view = last;
    send({ type: 'ended', view: last, status: last.status });
  };
  const sendTasks = async () => {
    const tasks = await source.tasks().catch(() => null);
    const text = JSON.stringify(tasks);
    if (text !== lastTasks) send({ type: 'tasks', tasks });
    lastTasks = text;
  };
  const onEvent = ({ event, view: next, line }: FollowedEvent) => {
    view = next;
    if (event === null || line === undefined) return;
    const entry = { ...line, event };
    viewAtMs = Date.parse(line.at);
    recent.add(entry, JSON.stringify(entry).length);
    if (!isCaughtUp) return;
    collected.push(entry);
    if (collected.length >= maxCollected) sendEntries();
    else collecting ??= setTimeout(sendEntries, collectMs);
    if (event.type !== 'agent' || event.event.type === 'usage') viewTimer ??= setTimeout(sendView, viewMs);
    if (event.type === 'tasks-changed' || event.type === 'iteration-finished') void sendTasks();
  };

  /** Returns what a client has missed; null if it cannot resume. */
  const missedBy = ({ lastId }: Client): string | null => {
    const at = lastId?.lastIndexOf('.') ?? -1;
    if (lastId === null || lastId.slice(0, at) !== run || !/^\d{1,15}$/.test(lastId.slice(at + 1))) return null;
    const entries = recent.after(Number(lastId.slice(at + 1)));
    if (entries === null) return null;
    const texts = messagesOf(entries).map(({ message, seq }) =>
      messageText(toJson(message), seq === null ? null : idOf(seq)),
    );
    return `${texts.join('')}${view === null ? '' : messageText(toJson(viewMessage(view)))}`;
  };
  const greet = async (client: Client) => {
    // All that was read is sent, so that the client continues behind it.
    sendEntries();
    const missed = missedBy(client);
    if (missed !== null) {
      client.send(missed);
      return clients.greeted(client);
    }
    const found = await detail.get();
    // Nothing may be sent to the others in between.
    client.send(snapshotOf(found));
    clients.greeted(client);
  };
  const snapshotOf = (found: RunDetail): string => {
    sendEntries();
    const seq = recent.last();
    const shown =
      view !== null && found.isLatest && found.status === 'running'
        ? { ...found, view: viewAt(view, Date.parse(found.now)) }
        : found;
    return messageText(toJson({ type: 'snapshot', detail: shown, seq }), seq === 0 ? null : idOf(seq));
  };
  const sendSnapshot = async () => clients.send(snapshotOf(await detail.get()));
  const greetAll = async () => {
    const next = clients.waiting().filter((client) => !greeting.has(client));
    for (const client of next) greeting.add(client);
    await Promise.all(next.map((client) => greet(client).catch(() => client.end())));
  };

  const follow = async (fromIteration: number, signal: AbortSignal) => {
    const isResumed = view !== null;
    const onIdle = () => {
      // The clients have seen the run before it was resumed.
      if (isResumed && !isCaughtUp) void sendSnapshot().catch(() => clients.end());
      isCaughtUp = true;
      void greetAll();
    };
    for await (const followed of source.follow({ fromIteration, signal, onIdle })) onEvent(followed);
  };
  const work = async (signal: AbortSignal) => {
    const stamp = await source.stamp();
    const found = await source.detail();
    if (found.isLatest && found.status === 'running') {
      isCaughtUp = false;
      await follow(found.lastIteration, signal);
      if (signal.aborted) return;
      isCaughtUp = true;
      sendEntries();
      if (view !== null) sendEnd({ ...view, status: currentStatus(view, false) });
    } else {
      const last = found.view && { ...found.view, status: currentStatus(found.view, false) };
      // It was resumed and has ended since it was looked at.
      const hasEndedAgain = view !== null && last !== null && endOf(view) !== endOf(last);
      view = last;
      detail.drop();
      if (hasEndedAgain) {
        await sendSnapshot();
        sendEnd(last);
      }
    }
    detail.drop();
    isCaughtUp = true;
    await greetAll();
    if (!found.isLatest && found.row.run !== null && found.row.run !== run)
      send({ type: 'superseded', run: found.row.run });
    while (!signal.aborted && (await source.stamp()) === stamp) {
      await sleep(idleMs, signal);
      await greetAll();
    }
    detail.drop();
  };
  const loop = createWorkerLoop(work, () => clients.end());
  const stop = () => {
    lingering = null;
    for (const timer of [collecting, viewTimer]) if (timer !== null) clearTimeout(timer);
    [collecting, viewTimer] = [null, null];
    loop.stop();
    options.onIdle();
  };
  const clients = createClients(
    () => {
      if (lingering !== null) clearTimeout(lingering);
      lingering = null;
      loop.start();
    },
    () => {
      lingering = setTimeout(stop, lingerMs);
    },
  );
  return {
    open: (client) => {
      clients.add(client);
      if (isCaughtUp) void greetAll();
    },
    close: () => {
      if (lingering !== null) clearTimeout(lingering);
      clients.end();
      stop();
    },
  };
};

/** Tells two ends of a run apart. */
const endOf = ({ status, iteration, finishedIterations, endedAt }: RunView): string =>
  JSON.stringify([status, iteration, finishedIterations, endedAt]);

/** Entries as messages, with the number that a client has seen after each. */
const messagesOf = (
  entries: readonly JournalEntry[],
): readonly { readonly message: RunMessage; readonly seq: number | null }[] => {
  if (entries.length === 0) return [];
  const finished = entries.flatMap(({ event }) =>
    event.type === 'iteration-finished'
      ? [{ message: { type: 'iteration', iteration: summarise(event.record) } as const, seq: null }]
      : [],
  );
  return [{ message: { type: 'entries', entries }, seq: entries.at(-1)!.seq }, ...finished];
};
