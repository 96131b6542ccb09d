import { setTimeout as delay } from 'node:timers/promises';
import { userError } from '../errors.ts';
import { acquireLock, type Lock } from './lock.ts';

/** Takes a lock that others hold only briefly. Throws if it is still taken after `timeoutMs`. */
export const waitForLock = async (path: string, purpose: string, timeoutMs: number): Promise<Lock> => {
  for (const deadline = performance.now() + timeoutMs; ; await delay(10)) {
    const locking = acquireLock(path, purpose);
    if (locking.kind === 'held') return locking;
    if (performance.now() > deadline) throw userError('file-locked', locking.by.pid, locking.by.host, path);
  }
};
