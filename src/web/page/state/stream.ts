import { parseJsonText } from '../../../text/json.ts';
import type { Problem } from './client.ts';
import { createStore } from './store.ts';

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'signed-out';

/** How the page is connected to the server: it has one stream at a time. */
export const connection = createStore<Connection>('connecting');

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
const missingMs = 1500;
/** For a server that sends a ping every 15 s. */
const silentAfterMs = 45_000;

const signedOut = new Set(['unauthorized', 'forbidden']);

/** Follows a stream until the returned function is called. Connects again by itself, sooner when the page is shown. */
export const openStream = <Message>({ path, onMessage, read }: StreamOptions<Message>): (() => void) => {
  let source: EventSource | null = null;
  let failures = 0;
  let isClosed = false;
  const timers = { retry: 0, hide: 0, poll: 0, silence: 0 };

  const close = () => {
    source?.close();
    source = null;
    clearTimeout(timers.silence);
  };
  const heard = () => {
    failures = 0;
    connection.set('live');
  };
  const pinged = () => {
    heard();
    clearTimeout(timers.silence);
    timers.silence = window.setTimeout(() => void recover(), silentAfterMs);
  };
  const connect = () => {
    clearTimeout(timers.retry);
    clearInterval(timers.poll);
    close();
    source = new EventSource(`/api/stream${path}`);
    source.addEventListener('open', heard);
    source.addEventListener('ping', pinged);
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      heard();
      onMessage(parseJsonText(data) as Message);
    });
    source.addEventListener('error', failed);
  };
  const failed = () => {
    // The browser tries once more by itself, and continues where it was.
    const isRetrying = source?.readyState === EventSource.CONNECTING && failures++ === 0;
    if (isRetrying) connection.set('reconnecting');
    else void recover();
  };
  /** Finds out what is wrong, and connects again after a while that grows. */
  const recover = async () => {
    close();
    const problem = await read();
    if (isClosed) return;
    const isMissing = problem === null || problem.code === 'not-found';
    connection.set(isMissing ? 'live' : signedOut.has(problem.code) ? 'signed-out' : 'reconnecting');
    const delay = isMissing ? missingMs : Math.min(longestDelayMs, firstDelayMs * 2 ** failures++);
    clearTimeout(timers.retry);
    timers.retry = window.setTimeout(connect, delay * (0.75 + Math.random() / 2));
  };
  const visibilityChanged = () => {
    clearTimeout(timers.hide);
    if (document.visibilityState === 'hidden') {
      timers.hide = window.setTimeout(() => {
        close();
        clearTimeout(timers.retry);
        clearInterval(timers.poll);
        timers.poll = window.setInterval(() => void read(), pollMs);
      }, hiddenAfterMs);
      return;
    }
    if (source === null) connect();
  };

  connection.set('connecting');
  connect();
  document.addEventListener('visibilitychange', visibilityChanged);
  addEventListener('online', connect);
  return () => {
    isClosed = true;
    close();
    clearTimeout(timers.retry);
    clearTimeout(timers.hide);
    clearInterval(timers.poll);
    document.removeEventListener('visibilitychange', visibilityChanged);
    removeEventListener('online', connect);
  };
};
