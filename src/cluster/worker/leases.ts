import { renewClaims } from '../claims.ts';
import { repeat } from '../repeat.ts';
import type { WorkerOptions } from './options.ts';
import { register } from './registration.ts';
import type { Slots } from './slots.ts';

/** Keeps the name and the claims of a worker, and ends its attempts before their leases end. */
export interface Leases {
  /** How long ago the last renewal that succeeded was sent. */
  silentMs(): number;
  /** The number of workers of the queue, this one included. */
  workers(): number;
  /** This worker was silent for so long that another one has its name. */
  hasLostName(): boolean;
  start(): void;
  stop(): Promise<void>;
}

export interface LeasesOptions {
  /** Tells this process from another one with the same name. */
  readonly instance: string;
  readonly slots: Slots;
  readonly onNameLost: () => void;
}

/** How often it is checked whether the queue was out of reach for too long. */
const deadlineCheckMs = 200;

export const createLeases = (worker: WorkerOptions, { instance, slots, onNameLost }: LeasesOptions): Leases => {
  const { database, leaseMs, log } = worker;
  let renewedMs = performance.now();
  let workers = 1;
  let hasLostName = false;
  const silentMs = () => performance.now() - renewedMs;
  const loseAll = (why: string) => slots.running().forEach((attempt) => attempt.lose(why));

  const renew = async (): Promise<void> => {
    const sentMs = performance.now();
    const held = slots.running().map((attempt) => ({ attempt, ...attempt.held() }));
    const registered = await register(worker, instance);
    if (registered === null) {
      hasLostName = true;
      loseAll('another worker has the name of this one');
      return onNameLost();
    }
    ({ workers } = registered);
    const kept = held.length === 0 ? [] : await renewClaims(database, worker, held);
    renewedMs = sentMs;
    for (const { attempt, project, id } of held)
      if (!attempt.isSettling() && !kept.some((each) => each.project === project && each.id === id))
        attempt.lose('another worker has taken it, or its claim was ended');
  };
  // The claims end by themselves if the queue cannot be reached. Their agents must have ended before that.
  const checkDeadline = () => {
    if (silentMs() > (leaseMs * 2) / 3) loseAll(`no contact with the queue for ${Math.round(silentMs() / 1000)}s`);
  };

  let stop = async () => {};
  return {
    silentMs,
    workers: () => workers,
    hasLostName: () => hasLostName,
    start: () => {
      const onError = (error: unknown) => log(`cannot renew the leases: ${(error as Error).message}`);
      const renewing = repeat(renew, { everyMs: leaseMs / 3, fromStart: true, onError });
      const checking = setInterval(checkDeadline, deadlineCheckMs);
      stop = async () => {
        clearInterval(checking);
        await renewing.stop();
      };
    },
    stop: () => stop(),
  };
};
