import { currentScope } from '../../process/scope.ts';

/**
 * Calls `end` when a signal ends Spool, until the returned function is called. Listens only while git runs: otherwise a
 * signal has to end Spool immediately.
 */
export const endOnSignal = (end: () => void): (() => void) => {
  if (!currentScope().ownsProcess) return () => {};
  if (running.size === 0) for (const signal of fatalSignals) process.on(signal, onFatal);
  running.add(end);
  return () => {
    running.delete(end);
    if (running.size > 0) return;
    for (const signal of fatalSignals) process.off(signal, onFatal);
    if (fatal !== null) process.kill(process.pid, fatal);
  };
};

const fatalSignals = ['SIGINT', 'SIGTERM'] as const;

/** Per process, like signals: one that ends Spool ends the git of all runs. */
const running = new Set<() => void>();
let fatal: NodeJS.Signals | null = null;

/**
 * A signal without other listeners ends Spool, as it would without git. git is ended first, because it has its own
 * process group.
 */
const onFatal = (signal: NodeJS.Signals): void => {
  if (process.listenerCount(signal) > 1) return;
  fatal = signal;
  for (const end of running) end();
};
