import { setMaxListeners } from 'node:events';
import type { StopSignals } from '../../process/signals.ts';
import type { Claim } from '../change-row.ts';
import type { Counters } from '../metrics.ts';

/** Why a run was stopped by its worker. */
export type Cut =
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'handed-back' }
  | { readonly kind: 'waiting'; readonly untilMs: number; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string };

/** Ends the run of an attempt before it ends by itself. */
export interface Stopping {
  /** What the run listens to. */
  readonly signals: StopSignals;
  /** Why the worker has stopped the run; null if it has not. */
  cut(): Cut | null;
  /** Nothing may be written any more. */
  isLost(): boolean;
  /** The claim is gone: ends the agent. */
  lose(why: string): void;
  /** Stops the agent. The first reason wins, except that nothing is written once the claim is lost. */
  cutShort(reason: Cut): void;
  /** Stops the agent because a person has asked for it. This is not recorded as a cut. */
  stop(): void;
  /** Hands the change back after its iteration, or right now. */
  handBack(when: 'after-iteration' | 'now'): void;
  /** Calls the listener when the run must end after its iteration: now or later, once. */
  onAfterIteration(listener: () => void): void;
}

export interface StoppingOptions {
  readonly claim: Claim;
  readonly leaseMs: number;
  readonly counters: Counters;
  readonly log: (line: string) => void;
}

export const createStopping = ({ claim, leaseMs, counters, log }: StoppingOptions): Stopping => {
  const [stop, kill] = [new AbortController(), new AbortController()];
  setMaxListeners(0, stop.signal, kill.signal);
  let cut: Cut | null = null;
  let isAsked = false;
  let listener: (() => void) | null = null;

  const cutShort = (reason: Cut): void => {
    if (cut === null || reason.kind === 'lost') cut = reason;
    stop.abort();
  };
  return {
    signals: {
      stop: stop.signal,
      kill: kill.signal,
      received: () => (stop.signal.aborted ? 'request' : null),
      dispose: () => {},
    },
    cut: () => cut,
    isLost: () => cut?.kind === 'lost',
    lose: (why) => {
      if (cut?.kind === 'lost') return;
      counters.lost++;
      log(`${claim.id}: lost (${why}); ending its agent`);
      cutShort({ kind: 'lost', why });
      setTimeout(() => kill.abort(), Math.min(5000, leaseMs / 6)).unref();
    },
    cutShort,
    stop: () => stop.abort(),
    handBack: (when) => {
      if (when === 'now') return cutShort({ kind: 'handed-back' });
      cut ??= { kind: 'handed-back' };
      isAsked = true;
      listener?.();
    },
    onAfterIteration: (each) => {
      listener = each;
      if (isAsked) each();
    },
  };
};
