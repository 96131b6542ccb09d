import { parseJsonText } from '../../../text/json.ts';
import type { Problem } from './client.ts';
import { createStore } from './store.ts';

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'signed-out';

/** How the page is connected to the server: it has one stream at a time. */
export const connection = createStore<Connection>('connecting');

/** How often the server was reached again after it could not be reached: what failed meanwhile is read again. */
export const reconnections = createStore(0);

export interface StreamOptions<Message> {
  /** Below `/api/stream`. */
  readonly path: string;
  readonly onMessage: (message: Message) => void;
  /**
   * Reads what is shown, without the stream: while the page is hidden, and when the stream fails, since a stream does not
   * say why. Returns what the server said; null if there is nothing to complain about.
   */
  readonly read: () => Promise<Problem | null>;
}

/** A browser allows six connections to a server over HTTP/1.1, so a hidden page gives its own back. */
const hiddenAfterMs = 10_000;
const pollMs = 15_000;
const [firstDelayMs, longestDelayMs] = [500, 15_000];
/** How soon the page asks again for a stream that the server does not have yet. */
const [firstMissingMs, longestMissingMs] = [1500, 6000];
/** For a server that sends a ping every 15 s. It is compared with the clock, so that a laptop that was asleep notices. */
const silentAfterMs = 45_000;
const silenceCheckMs = 5000;

const signedOut = new Set(['unauthorized', 'forbidden']);

/** Follows a stream until the returned function is called. Connects again by itself, sooner when the page is shown. */
export const openStream = <Message>({ path, onMessage, read }: StreamOptions<Message>): (() => void) => {
  let source: EventSource | null = null;
  let [failures, missing] = [0, 0];
  let isClosed = false;
  /** The page is hidden, and has given its connection back. */
  let isAsleep = false;
  let heardAtMs = 0;
  /** Of the last message: a new connection continues behind it. */
  let lastId = '';
  const timers = { retry: 0, hide: 0, poll: 0, silence: 0 };

  const close = () => {
    source?.close();
    source = null;
    clearInterval(timers.silence);
  };
  const heard = () => {
    [failures, missing] = [0, 0];
    heardAtMs = Date.now();
    setConnection('live');
  };
  const connect = () => {
    clearTimeout(timers.retry);
    clearInterval(timers.poll);
    close();
    isAsleep = false;
    heardAtMs = Date.now();
    source = new EventSource(`/api/stream${path}${lastId === '' ? '' : `?after=${encodeURIComponent(lastId)}`}`);
    source.addEventListener('open', heard);
    source.addEventListener('ping', heard);
    source.addEventListener('message', ({ data, lastEventId }: MessageEvent<string>) => {
      heard();
      lastId = lastEventId;
      onMessage(parseJsonText(data) as Message);
    });
    source.addEventListener('error', failed);
    timers.silence = window.setInterval(() => {
      if (Date.now() - heardAtMs > silentAfterMs) void recover();
    }, silenceCheckMs);
  };
  const failed = () => {
    // The browser tries once more by itself, and continues where it was.
    const isRetrying = source?.readyState === EventSource.CONNECTING && failures++ === 0;
    if (isRetrying) setConnection('reconnecting');
    else void recover();
  };
  /** Finds out what is wrong, and connects again after a while that grows. */
  const recover = async () => {
    close();
    const problem = await read();
    if (isClosed || isAsleep) return;
    const isMissing = problem === null || problem.code === 'not-found';
    setConnection(isMissing ? 'live' : signedOut.has(problem.code) ? 'signed-out' : 'reconnecting');
    const delay = isMissing
      ? Math.min(longestMissingMs, firstMissingMs * 2 ** missing++)
      : Math.min(longestDelayMs, firstDelayMs * 2 ** failures++);
    clearTimeout(timers.retry);
    timers.retry = window.setTimeout(connect, delay * (0.75 + Math.random() / 2));
  };
  const sleep = () => {
    isAsleep = true;
    close();
    clearTimeout(timers.retry);
    clearInterval(timers.poll);
    timers.poll = window.setInterval(() => void read(), pollMs);
  };
  const visibilityChanged = () => {
    clearTimeout(timers.hide);
    if (document.visibilityState === 'hidden') timers.hide = window.setTimeout(sleep, hiddenAfterMs);
    else if (source === null) {
      connect();
      // A stream resumes with what happened in the run, not with what else has changed.
      void read();
    }
  };
  const cameOnline = () => {
    if (!isAsleep) connect();
  };

  // What was live a moment ago, for another view, most likely still is.
  if (connection.get() !== 'live') connection.set('connecting');
  connect();
  // A page may be opened in the background.
  visibilityChanged();
  document.addEventListener('visibilitychange', visibilityChanged);
  addEventListener('online', cameOnline);
  return () => {
    isClosed = true;
    close();
    clearTimeout(timers.retry);
    clearTimeout(timers.hide);
    clearInterval(timers.poll);
    document.removeEventListener('visibilitychange', visibilityChanged);
    removeEventListener('online', cameOnline);
  };
};

const setConnection = (next: Connection): void => {
  const before = connection.get();
  connection.set(next);
  if (next === 'live' && (before === 'reconnecting' || before === 'signed-out'))
    reconnections.set(reconnections.get() + 1);
};
