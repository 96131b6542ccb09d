import type { Overview, OverviewMessage } from '../api.ts';
import { type Client, messageText } from './client.ts';
import { createClients } from './clients.ts';
import { createOnDemandLoop } from './on-demand-loop.ts';
import { sleep } from '../../process/timers.ts';

export interface OverviewStream {
  open(client: Client): void;
  close(): void;
}

export interface OverviewStreamOptions {
  readonly read: () => Promise<Overview>;
  /** JSON without secrets and control characters. */
  readonly toJson: (message: OverviewMessage) => string;
}

const pollMs = 1000;
/** Messages that are kept for clients that connect again. */
const maxKept = 100;

/** Reads the overview once a second while a client is connected, and sends the rows that have changed. */
export const createOverviewStream = ({ read, toJson }: OverviewStreamOptions): OverviewStream => {
  /** Ids of another server are not ours. */
  const epoch = crypto.randomUUID().slice(0, 8);
  let number = 0;
  let kept: { readonly number: number; readonly text: string }[] = [];
  let shown: Shown | null = null;
  /** The snapshot of the last reading, for all who need it. */
  let snapshot: string | null = null;

  const idOf = (of: number) => `${epoch}.${of}`;
  /** Returns null if the client cannot resume. */
  const missedBy = ({ lastId }: Client): string | null => {
    const [from, seen] = lastId?.split('.') ?? [];
    if (from !== epoch || !/^\d{1,15}$/.test(seen ?? '')) return null;
    const missed = kept.filter((each) => each.number > Number(seen));
    return Number(seen) + missed.length === number ? missed.map(({ text }) => text).join('') : null;
  };
  const greet = (client: Client) => {
    snapshot ??= messageText(toJson({ type: 'overview', overview: shown!.overview }), idOf(number));
    client.send(missedBy(client) ?? snapshot);
    clients.greeted(client);
  };
  const poll = async () => {
    const overview = await read();
    const next = { overview, texts: new Map(overview.rows.map((row) => [row.change, JSON.stringify(row)])) };
    const message = shown && changesBetween(shown, next);
    [shown, snapshot] = [next, null];
    if (message !== null) {
      const text = messageText(toJson(message), idOf(++number));
      kept = [...kept, { number, text }].slice(-maxKept);
      clients.send(text);
    }
    clients.waiting().forEach(greet);
  };
  const loop = createOnDemandLoop(
    async (signal) => {
      await poll();
      await sleep(pollMs, signal);
    },
    () => {},
  );
  const clients = createClients(loop.start, loop.stop);
  return {
    // It is greeted with the next reading: the last one may be old.
    open: clients.add,
    close: () => {
      loop.stop();
      clients.end();
    },
  };
};

interface Shown {
  readonly overview: Overview;
  /** The rows as JSON, by change. */
  readonly texts: ReadonlyMap<string, string>;
}

/** What has changed; null if nothing has. */
const changesBetween = (before: Shown, after: Shown): OverviewMessage | null => {
  const { rows, warnings, now } = after.overview;
  const changed = rows.filter(({ change }) => before.texts.get(change) !== after.texts.get(change));
  const order = rows.map(({ change }) => change);
  const isSameOrder = order.join('\n') === before.overview.rows.map(({ change }) => change).join('\n');
  const isSame = isSameOrder && warnings.join('\n') === before.overview.warnings.join('\n');
  return changed.length === 0 && isSame ? null : { type: 'rows', rows: changed, order, warnings, now };
};
