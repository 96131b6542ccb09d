import type { RunMessage } from '../api.ts';
import type { RunSource } from '../read/run-source.ts';
import type { Client } from './client.ts';
import { createClients } from './clients.ts';
import { createGreeter } from './greet.ts';
import { createOnDemandLoop } from './on-demand-loop.ts';
import { createRunFeed } from './run-feed.ts';
import { watchRun } from './watch-run.ts';

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

/** How long a run is followed after the last client has left: a page that is loaded again needs it at once. */
const lingerMs = 3000;

/** Follows one run, once for all its clients, while there are any. */
export const createRunStream = ({ source, toJson, onIdle }: RunStreamOptions): RunStream => {
  let lingering: NodeJS.Timeout | undefined;
  const clients = createClients(
    () => {
      clearTimeout(lingering);
      loop.start();
    },
    () => {
      lingering = setTimeout(stop, lingerMs);
    },
  );
  const feed = createRunFeed(source, toJson, clients);
  const { greetAll } = createGreeter(feed);
  const loop = createOnDemandLoop(
    (signal) => watchRun(feed, greetAll, signal),
    () => clients.end(),
  );
  const stop = () => {
    feed.cancel();
    loop.stop();
    onIdle();
  };
  return {
    open: (client) => {
      clients.add(client);
      if (feed.isCaughtUp) void greetAll();
    },
    close: () => {
      clearTimeout(lingering);
      clients.end();
      stop();
    },
  };
};
