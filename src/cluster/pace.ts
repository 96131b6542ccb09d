/*
 * How idle workers share the work of looking. A look costs the same however many changes are queued, so the sum grows with
 * the number of workers, and must not.
 */

const minMs = 2000;
const perWorkerMs = 20;

/**
 * When to look at the queue again without a notification: for a wait that is over, or a lease that has ended. All workers
 * together look about fifty times a second at most, until each of them looks three times per lease.
 */
export const pollDelayMs = ({ workers, leaseMs }: { readonly workers: number; readonly leaseMs: number }): number => {
  const meanMs = Math.max(minMs, Math.min(workers * perWorkerMs, leaseMs / 3));
  return meanMs * (0.75 + Math.random() / 2);
};

/** When to look after a notification, which all workers get: about one worker per millisecond, the first one at once. */
export const wakeDelayMs = (workers: number): number => Math.random() * (workers - 1);
