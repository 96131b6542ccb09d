import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { processStart, sendSignal } from '../process/start-time.ts';

/** How long bubblewrap may take to start its first process. */
const startMs = 5000;
/** How long the processes of a namespace may take to vanish when its first process was killed. */
const vanishMs = 5000;

export interface FirstProcess {
  readonly pid: number;
  readonly start: string;
}

/**
 * The first process inside, which the kernel ends together with every other process inside; null when there is none.
 * Resolves once bubblewrap has started it.
 */
export const firstChildOf = async (pid: number): Promise<FirstProcess | null> => {
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
 * Waits until it is gone, and with it all that it had started, whatever its environment or session. Resolves with false
 * when it is not: a process that waits for a disk or a network that does not answer cannot be killed.
 */
export const awaitEnd = async (first: FirstProcess | null, patienceMs = vanishMs): Promise<boolean> => {
  if (first === null) return true;
  const deadline = performance.now() + patienceMs;
  while (processStart(first.pid) === first.start) {
    if (performance.now() >= deadline) return false;
    sendSignal(first.pid, 'SIGKILL');
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
