import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { processStart, sendSignal } from '../process/start-time.ts';

/** How long bubblewrap may take to start the first process of the namespace. */
const startMs = 5000;
/** How long the processes of a namespace may take to exit after its init was killed. */
const exitMs = 5000;

export interface NamespaceInit {
  readonly pid: number;
  readonly start: string;
}

/**
 * Returns the init process of the PID namespace, with which the kernel ends every other process in the sandbox; null if
 * there is none. Resolves once bubblewrap has started it.
 */
export const findNamespaceInit = async (pid: number): Promise<NamespaceInit | null> => {
  if (process.platform !== 'linux') return null;
  for (let waited = 0; waited < startMs && processStart(pid) !== null; waited += 2) {
    const child = childrenOf(pid)[0];
    const start = child === undefined ? null : processStart(child);
    if (child !== undefined && start !== null) return { pid: child, start };
    await delay(2);
  }
  return null;
};

/**
 * Kills the namespace and waits until all its processes are gone, in any environment or session. Resolves to
 * false if they are not: a process that waits for an unresponsive disk or network cannot be killed.
 */
export const killNamespace = async (init: NamespaceInit | null, timeoutMs = exitMs): Promise<boolean> => {
  if (init === null) return true;
  const deadline = performance.now() + timeoutMs;
  while (processStart(init.pid) === init.start) {
    if (performance.now() >= deadline) return false;
    sendSignal(init.pid, 'SIGKILL');
    await delay(2);
  }
  return true;
};

const childrenOf = (pid: number): number[] => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
};
