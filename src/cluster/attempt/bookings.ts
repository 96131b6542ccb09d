import type { RunEvent } from '../../ralph/events.ts';
import type { RunView } from '../../ralph/view.ts';
import { book, type Spending } from '../budget.ts';
import { saveUnbooked } from '../unbooked.ts';
import type { AttemptContext } from './context.ts';
import { aborted, retry } from '../repeat.ts';

/** Books what the agents of an attempt cost, as they report it. */
export interface Bookings {
  /** Called with each event of the run. */
  onEvent(event: RunEvent, view: RunView): void;
  /** Resolves when what was reported is booked, or when the run is stopped. It is booked in any case: the money is spent. */
  upToDate(): Promise<void>;
  /** Resolves when everything is booked, which may take as long as the database is down. */
  all(): Promise<void>;
}

export const createBookings = (context: AttemptContext): Bookings => {
  const { database, claim, held, stopping, counters, folders } = context;
  /** What is not booked yet, by iteration. */
  const open = new Map<number, Spending>();
  let current: Spending | null = null;
  let booking: Promise<void> | null = null;

  const save = () => saveUnbooked(folders, { held: held(), budget: claim.budget, spent: [...open.values()] });

  const bookAll = async (): Promise<void> => {
    for (;;) {
      const [iteration] = open.keys();
      if (iteration === undefined) {
        booking = null;
        return;
      }
      await retry(async () => {
        const spending = open.get(iteration)!;
        await book(database, held(), { ...spending, budget: claim.budget });
        // More may have been reported in the meantime.
        if (open.get(iteration) === spending) open.delete(iteration);
        save();
      }, null);
    }
  };
  const spend = (spending: Spending): void => {
    current = spending;
    open.set(spending.iteration, spending);
    save();
    booking ??= bookAll();
  };

  return {
    onEvent: (event, { run }) => {
      if (event.type === 'iteration-started') {
        const { iteration } = event;
        const costUsd = current?.iteration === iteration ? current.costUsd : 0;
        current = { run, iteration, costUsd, isOver: false };
      }
      if (current === null) return;
      if ((event.type === 'agent' || event.type === 'reviewer') && event.event.type === 'usage') {
        const moreUsd = event.event.costUsd ?? 0;
        counters.costUsd += moreUsd;
        if (moreUsd > 0) spend({ ...current, costUsd: current.costUsd + moreUsd });
      }
      if (event.type === 'iteration-finished' || event.type === 'attempt-deferred') spend({ ...current, isOver: true });
    },
    upToDate: () => Promise.race([booking ?? Promise.resolve(), aborted(stopping.signals.stop)]),
    all: () => booking ?? Promise.resolve(),
  };
};
