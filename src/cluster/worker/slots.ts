import { type ChangeAttempt, startAttempt } from '../attempt/attempt.ts';
import type { Claim } from '../change-row.ts';
import type { Held } from '../claims.ts';
import type { Counters } from '../metrics.ts';
import type { WorkerOptions } from './options.ts';
import type { Repository } from './repositories.ts';

/** The attempts that a worker runs at the same time. */
export interface Slots {
  running(): readonly ChangeAttempt[];
  start(claim: Claim): void;
  /** Resolves when those that run now have ended. */
  ended(): Promise<unknown>;
  /** Resolves when the cost of those that have ended is booked. */
  booked(): Promise<unknown>;
}

export interface SlotsOptions {
  readonly repositories: ReadonlyMap<string, Repository>;
  readonly counters: Counters;
  readonly onMachineProblem: (why: string) => void;
  /** Called when an attempt has ended. */
  readonly onFree: () => void;
}

export const createSlots = (
  worker: WorkerOptions,
  { repositories, counters, onMachineProblem, onFree }: SlotsOptions,
): Slots => {
  const running = new Set<ChangeAttempt>();
  const bookings = new Set<Promise<unknown>>();
  const ended = (attempts: Iterable<ChangeAttempt>) => Promise.all([...attempts].map((attempt) => attempt.ended));
  return {
    running: () => [...running],
    ended: () => ended(running),
    booked: () => Promise.all(bookings),
    start: (claim) => {
      worker.log(`${claim.id}: taken (epoch ${claim.epoch})`);
      const isSame = ({ project, id }: Held) => project === claim.project && id === claim.id;
      const previous = ended([...running].filter((each) => isSame(each.held()))).then(() => {});
      const { remote, folders } = repositories.get(claim.project)!;
      const attempt = startAttempt({ ...worker, counters, claim, remote, folders, onMachineProblem, previous });
      running.add(attempt);
      void attempt.ended.finally(() => {
        running.delete(attempt);
        const booked = attempt.booked();
        bookings.add(booked);
        void booked.finally(() => bookings.delete(booked));
        onFree();
      });
    },
  };
};
