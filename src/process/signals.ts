import { setMaxListeners } from 'node:events';
import { isatty } from 'node:tty';
import { signalExitCodes } from '../errors.ts';

export type StopSignalName = keyof typeof signalExitCodes;

const stopSignals = Object.keys(signalExitCodes) as StopSignalName[];

/** What asked to stop: a signal, or a request of another process. */
export type StopSource = StopSignalName | 'request';

export interface StopSignals {
  /** Aborted by the first signal, to terminate the agent. */
  readonly stop: AbortSignal;
  /** Aborted by the second signal, to kill the agent immediately. */
  readonly kill: AbortSignal;
  /** Returns what asked to stop first; null if nothing has. */
  received(): StopSource | null;
  dispose(): void;
}

const stdout = 1;
const stderr = 2;

/**
 * Listens for signals that stop a run. SIGHUP means that the terminal was closed. A Spool that does not write to a
 * terminal was started to outlive it (`nohup spool … &`), so it ignores SIGHUP. It needs a listener for that, because Node
 * resets signals that were ignored at its start.
 */
export const onStopSignals = (onFirst: (signal: StopSignalName) => void): StopSignals => {
  const stop = new AbortController();
  const kill = new AbortController();
  // Every process of every run listens to them.
  setMaxListeners(0, stop.signal, kill.signal);
  let first: StopSignalName | null = null;
  const listen = (signal: StopSignalName) => {
    if (first !== null) return kill.abort();
    first = signal;
    onFirst(signal);
    stop.abort();
  };
  const ignore = () => {};
  const listenerOf = (signal: StopSignalName) =>
    signal === 'SIGHUP' && !isatty(stdout) && !isatty(stderr) ? ignore : listen;
  const listeners = stopSignals.map((signal) => [signal, listenerOf(signal)] as const);
  for (const [signal, listener] of listeners) process.on(signal, listener);
  return {
    stop: stop.signal,
    kill: kill.signal,
    received: () => first,
    dispose: () => listeners.forEach(([signal, listener]) => process.off(signal, listener)),
  };
};

/** Aborts the controller with the signal, which may be aborted already, until `disposed` is aborted. */
export const followSignal = (signal: AbortSignal, controller: AbortController, disposed: AbortSignal): void => {
  if (signal.aborted) controller.abort();
  else signal.addEventListener('abort', () => controller.abort(), { signal: disposed });
};

/** A request counts as SIGTERM. */
export const exitCodeOf = (source: StopSource): number => signalExitCodes[source === 'request' ? 'SIGTERM' : source];

/** Stops on an AbortSignal, in a program that handles the signals of its process itself. */
export const stopSignalsOf = (signal: AbortSignal | undefined): StopSignals => {
  const stop = new AbortController();
  const disposed = new AbortController();
  setMaxListeners(0, stop.signal);
  if (signal) followSignal(signal, stop, disposed.signal);
  return {
    stop: stop.signal,
    kill: new AbortController().signal,
    received: () => (stop.signal.aborted ? 'request' : null),
    dispose: () => disposed.abort(),
  };
};
