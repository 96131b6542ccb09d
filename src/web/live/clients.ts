import { type Client, heartbeat } from './client.ts';

/** The clients of one subject: what it costs to follow it does not depend on how many there are. */
export interface Clients {
  add(client: Client): void;
  /** Those that have not been greeted. They get nothing before they are. */
  waiting(): readonly Client[];
  /** The client has got a snapshot, or what it has missed. */
  greeted(client: Client): void;
  isEmpty(): boolean;
  /** Sends a text to all that were greeted. */
  send(text: string): void;
  end(): void;
}

const heartbeatMs = 15_000;

/** `onFirst` is called when there is a client again, `onLast` when the last one is gone. */
export const createClients = (onFirst: () => void, onLast: () => void): Clients => {
  const all = new Map<Client, { isGreeted: boolean }>();
  let timer: NodeJS.Timeout | null = null;
  const beat = () => [...all.keys()].forEach((client) => client.send(heartbeat));
  const remove = (client: Client) => {
    if (!all.delete(client) || all.size > 0) return;
    if (timer !== null) clearInterval(timer);
    timer = null;
    onLast();
  };
  return {
    add: (client) => {
      if (client.gone.aborted) return;
      all.set(client, { isGreeted: false });
      client.gone.addEventListener('abort', () => remove(client), { once: true });
      timer ??= setInterval(beat, heartbeatMs);
      if (all.size === 1) onFirst();
    },
    waiting: () => [...all].filter(([, { isGreeted }]) => !isGreeted).map(([client]) => client),
    greeted: (client) => {
      const state = all.get(client);
      if (state) state.isGreeted = true;
    },
    isEmpty: () => all.size === 0,
    send: (text) => {
      for (const [client, { isGreeted }] of all) if (isGreeted) client.send(text);
    },
    end: () => [...all.keys()].forEach((client) => client.end()),
  };
};
