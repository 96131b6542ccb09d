import type { RunDetail } from '../api.ts';
import type { Client } from './client.ts';
import type { RunFeed } from './run-feed.ts';

/** Brings new clients up to date: with what they have missed, or with a snapshot. */
export const createGreeter = (feed: RunFeed): { readonly greetAll: () => Promise<void> } => {
  const greeting = new WeakSet<Client>();
  return {
    greetAll: async () => {
      const next = feed.clients.waiting().filter((client) => !greeting.has(client));
      for (const client of next) greeting.add(client);
      await Promise.all(next.map((client) => greet(feed, client).catch(() => client.end())));
    },
  };
};

/** Shows all clients the run as it is now. */
export const sendSnapshot = async (feed: RunFeed): Promise<void> =>
  feed.clients.send(snapshotOf(feed, await feed.detail.get()));

const greet = async (feed: RunFeed, client: Client): Promise<void> => {
  // All that was read is sent, so that the client continues behind it.
  feed.sendEntries();
  const missed = missedBy(feed, client);
  if (missed !== null) client.send(missed);
  // Nothing may be sent to the others between its snapshot and its greeting.
  else client.send(snapshotOf(feed, await feed.detail.get()));
  feed.clients.greeted(client);
};

/** Returns null if the client cannot resume. */
const missedBy = ({ recent, texts, view }: RunFeed, { lastId }: Client): string | null => {
  const seq = texts.seqIn(lastId);
  const entries = seq === null ? null : recent.after(seq);
  return entries && `${texts.entries(entries)}${texts.view(view)}`;
};

const snapshotOf = (feed: RunFeed, detail: RunDetail): string => {
  feed.sendEntries();
  const current = detail.isLatest && detail.status === 'running' ? feed.view.at(Date.parse(detail.now)) : null;
  return feed.texts.snapshot(current === null ? detail : { ...detail, view: current }, feed.recent.last());
};
