import type { IncomingMessage } from 'node:http';
import { type Reply, unreadMs } from '../http/answer.ts';
import { securityHeaders } from '../http/headers.ts';

/** One open stream of Server-Sent Events. */
export interface Client {
  /** The id of the last message that it has got before it was cut off; null if it is new. */
  readonly lastId: string | null;
  /** Sends what `messageText` has made. A client that does not read is dropped. */
  send(text: string): void;
  end(): void;
  /** Aborted when it is gone. */
  readonly gone: AbortSignal;
}

/** What may wait for a client that reads slowly. It reconnects, and gets a snapshot. */
const maxUnread = 4 * 1024 * 1024;

/** Makes a stream of an answer. */
export const openClient = (request: IncomingMessage, { response, isHead }: Reply): Client => {
  const gone = new AbortController();
  // A connection with heartbeats is never idle, unless the client does not read them.
  response.setTimeout(unreadMs);
  response.writeHead(200, {
    ...securityHeaders,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    // A reverse proxy must not wait for more.
    'x-accel-buffering': 'no',
  });
  response.on('close', () => gone.abort());
  if (isHead) response.end();
  else response.write(`retry: ${retryMs}\n\n`);
  return {
    lastId: lastIdOf(request),
    send: (text) => {
      if (response.destroyed || response.writableEnded) return;
      if (response.writableLength > maxUnread) response.destroy();
      else response.write(text);
    },
    end: () => response.end(),
    gone: gone.signal,
  };
};

/** A browser sends the header when it connects again by itself. A page that opens a new stream sends `?after=`. */
const lastIdOf = ({ headers, url = '' }: IncomingMessage): string | null => {
  const given = headers['last-event-id'];
  if (typeof given === 'string' && given !== '') return given;
  return new URLSearchParams(url.slice(url.indexOf('?') + 1)).get('after');
};

/** When a browser connects again. */
const retryMs = 1000;

/** A message as it is sent, so that many clients share the text. JSON has no line breaks. */
export const messageText = (json: string, id: string | null = null): string =>
  `${id === null ? '' : `id: ${id}\n`}data: ${json}\n\n`;

/**
 * Keeps connections open, and finds those that are gone. The page reconnects if it stays away; it would not see a comment,
 * or an event without data.
 */
export const heartbeat = 'event: ping\ndata: 1\n\n';
