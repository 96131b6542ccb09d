import { setMaxListeners } from 'node:events';
import { constants } from 'node:os';

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export type StopSignal = (typeof stopSignals)[number];

export interface Stops {
  /** Aborted by the first signal: end the agent in good order. */
  readonly stop: AbortSignal;
  /** Aborted by the second one: kill it now. */
  readonly kill: AbortSignal;
  /** The first signal that came; null while none has. */
  received(): StopSignal | null;
  dispose(): void;
}

export const listenForStops = (onFirst: (signal: StopSignal) => void): Stops => {
  const stop = new AbortController();
  const kill = new AbortController();
  // Every process of every run listens to them.
  setMaxListeners(0, stop.signal, kill.signal);
  let first: StopSignal | null = null;
  const listen = (signal: StopSignal) => {
    if (first !== null) return kill.abort();
    first = signal;
    onFirst(signal);
    stop.abort();
  };
  for (const signal of stopSignals) process.on(signal, listen);
  return {
    stop: stop.signal,
    kill: kill.signal,
    received: () => first,
    dispose: () => stopSignals.forEach((signal) => process.off(signal, listen)),
  };
};

/** 130 for SIGINT, 143 for SIGTERM, as shells have it. */
export const exitCodeOf = (signal: StopSignal): number => 128 + constants.signals[signal];
