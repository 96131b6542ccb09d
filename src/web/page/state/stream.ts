import { parseJsonText } from '../../../text/json.ts';
import type { Problem } from './client.ts';
import { createStore } from './store.ts';

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'signed-out';

/** How the page is connected to the server: it has one stream at a time. */
export const connection = createStore<Connection>('connecting');

/** How often the server was reached again after it could not be reached: what failed in the meantime is read again. */
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
const [firstDelayMs, maxDelayMs] = [500, 15_000];
/** How soon the page asks again for a stream that the server does not have yet. */
const [firstMissingMs, maxMissingMs] = [1500, 6000];
/** For a server that sends a ping every 15 s. It is compared with the clock, so that a laptop that was asleep notices. */
const silentAfterMs = 45_000;
const silenceCheckMs = 5000;

const signedOut = new Set(['unauthorized', 'forbidden']);

/** Follows a stream until the returned function is called. Connects again by itself, sooner when the page is shown. */
export const openStream = <Message>(options: StreamOptions<Message>): (() => void) => {
  const stream = newStream(options);
  const visibilityChanged = () => onVisibility(stream);
  const cameOnline = () => {
    if (!stream.isAsleep) connect(stream);
  };
  // What was live a moment ago, for another view, most likely still is.
  if (connection.get() !== 'live') connection.set('connecting');
  connect(stream);
  // A page may be opened in the background.
  visibilityChanged();
  document.addEventListener('visibilitychange', visibilityChanged);
  addEventListener('online', cameOnline);
  return () => {
    stream.isClosed = true;
    disconnect(stream);
    clearTimeout(stream.timers.retry);
    clearTimeout(stream.timers.hide);
    clearInterval(stream.timers.poll);
    document.removeEventListener('visibilitychange', visibilityChanged);
    removeEventListener('online', cameOnline);
  };
};

interface Stream {
  readonly path: string;
  readonly onText: (json: string) => void;
  readonly read: () => Promise<Problem | null>;
  readonly timers: Record<'retry' | 'hide' | 'poll' | 'silence', number>;
  source: EventSource | null;
  /** In a row: how often the server could not be reached, and how often it did not have the stream. */
  failures: number;
  missing: number;
  isClosed: boolean;
  /** The page is hidden, and has given its connection back. */
  isAsleep: boolean;
  heardAtMs: number;
  /** Of the last message: a new connection continues behind it. */
  lastId: string;
}

const newStream = <Message>({ path, onMessage, read }: StreamOptions<Message>): Stream => ({
  path,
  onText: (json) => onMessage(parseJsonText(json) as Message),
  read,
  timers: { retry: 0, hide: 0, poll: 0, silence: 0 },
  source: null,
  failures: 0,
  missing: 0,
  isClosed: false,
  isAsleep: false,
  heardAtMs: 0,
  lastId: '',
});

const connect = (stream: Stream): void => {
  const { path, lastId, timers } = stream;
  clearTimeout(timers.retry);
  clearInterval(timers.poll);
  disconnect(stream);
  stream.isAsleep = false;
  stream.heardAtMs = Date.now();
  const source = new EventSource(`/api/stream${path}${lastId === '' ? '' : `?after=${encodeURIComponent(lastId)}`}`);
  source.addEventListener('open', () => onSign(stream));
  source.addEventListener('ping', () => onSign(stream));
  source.addEventListener('message', ({ data, lastEventId }: MessageEvent<string>) => {
    onSign(stream);
    stream.lastId = lastEventId;
    stream.onText(data);
  });
  source.addEventListener('error', () => onError(stream));
  stream.source = source;
  timers.silence = window.setInterval(() => {
    if (Date.now() - stream.heardAtMs > silentAfterMs) void recover(stream);
  }, silenceCheckMs);
};

const disconnect = (stream: Stream): void => {
  stream.source?.close();
  stream.source = null;
  clearInterval(stream.timers.silence);
};

/** A sign of the server: it can be reached. */
const onSign = (stream: Stream): void => {
  stream.failures = 0;
  stream.missing = 0;
  stream.heardAtMs = Date.now();
  setConnection('live');
};

const onError = (stream: Stream): void => {
  // The browser tries once more by itself, and continues where it was.
  const isRetrying = stream.source?.readyState === EventSource.CONNECTING && stream.failures++ === 0;
  if (isRetrying) setConnection('reconnecting');
  else void recover(stream);
};

/** Finds out what is wrong, and connects again after a while that grows. */
const recover = async (stream: Stream): Promise<void> => {
  disconnect(stream);
  const problem = await stream.read();
  if (stream.isClosed || stream.isAsleep) return;
  const isMissing = problem === null || problem.code === 'not-found';
  setConnection(isMissing ? 'live' : signedOut.has(problem.code) ? 'signed-out' : 'reconnecting');
  const delay = isMissing
    ? Math.min(maxMissingMs, firstMissingMs * 2 ** stream.missing++)
    : Math.min(maxDelayMs, firstDelayMs * 2 ** stream.failures++);
  clearTimeout(stream.timers.retry);
  stream.timers.retry = window.setTimeout(() => connect(stream), delay * (0.75 + Math.random() / 2));
};

const onVisibility = (stream: Stream): void => {
  const { timers, source, read } = stream;
  clearTimeout(timers.hide);
  if (document.visibilityState === 'hidden') timers.hide = window.setTimeout(() => sleep(stream), hiddenAfterMs);
  else if (source === null) {
    connect(stream);
    // A stream resumes with what happened in the run, not with what else has changed.
    void read();
  }
};

const sleep = (stream: Stream): void => {
  const { timers, read } = stream;
  stream.isAsleep = true;
  disconnect(stream);
  clearTimeout(timers.retry);
  clearInterval(timers.poll);
  timers.poll = window.setInterval(() => void read(), pollMs);
};

const setConnection = (next: Connection): void => {
  const before = connection.get();
  connection.set(next);
  if (next === 'live' && (before === 'reconnecting' || before === 'signed-out'))
    reconnections.set(reconnections.get() + 1);
};
