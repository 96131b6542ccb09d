import type { RunMessage } from '../api.ts';
import type { RunSource } from '../read/run-source.ts';
import { createRunStream, type RunStream } from './run-stream.ts';

/** The streams of all runs that are followed now, one for each. */
export const createRunStreams = (toJson: (message: RunMessage) => string) => {
  const streams = new Map<string, RunStream>();
  return {
    of: (source: RunSource): RunStream => {
      const key = `${source.change} ${source.run}`;
      const known = streams.get(key);
      if (known) return known;
      const stream = createRunStream({ source, toJson, onIdle: () => void streams.delete(key) });
      streams.set(key, stream);
      return stream;
    },
    close: (): void => {
      for (const stream of streams.values()) stream.close();
    },
  };
};
