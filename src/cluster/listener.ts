import { setTimeout as delay } from 'node:timers/promises';
import { sleep } from '../process/timers.ts';
import type { Client } from 'pg';

/** The connection over which notifications come. It connects again by itself, until it is closed. */
export interface Listener {
  listen(listeners: Readonly<Record<string, (payload: string) => void>>): Promise<void>;
  /** Returns the connection for one query, while it has nothing to do; null otherwise. */
  take(): Client | null;
  /** The query is answered. */
  release(client: Client): void;
  close(): void;
}

/** How long the server may take to end a connection: one that is cut off never answers. */
const endMs = 1000;

export const createListener = (createClient: () => Client): Listener => {
  const closing = new AbortController();
  const closed = new Promise<void>((resolve) =>
    closing.signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  let free: Client | null = null;

  /** Resolves when the connection is lost or the listener is closed. */
  const listenOnce = async (listeners: Readonly<Record<string, (payload: string) => void>>): Promise<void> => {
    const client = createClient();
    const commands = Object.keys(listeners).map((channel) => `listen ${client.escapeIdentifier(channel)}`);
    const lost = new Promise<void>((resolve) => {
      client.on('error', () => resolve());
      client.once('end', resolve);
    });
    client.on('notification', ({ channel, payload }) => listeners[channel]?.(payload ?? ''));
    const started = client.connect().then(() => client.query(commands.join('; ')));
    const listening = started.then(() => {
      free = client;
      return lost;
    });
    await Promise.race([listening, lost, closed]).catch(() => {});
    if (free === client) free = null;
    await Promise.race([client.end().catch(() => {}), delay(endMs, undefined, { ref: false })]);
  };

  return {
    listen: async (listeners) => {
      while (!closing.signal.aborted) {
        await listenOnce(listeners);
        // At different times, because all workers lose a server that restarts at the same moment.
        const pauseMs = 1000 + Math.random() * 2000;
        await sleep(pauseMs, closing.signal, { ref: false });
      }
    },
    take: () => {
      const client = free;
      free = null;
      return client;
    },
    release: (client) => {
      free = client;
    },
    close: () => closing.abort(),
  };
};
