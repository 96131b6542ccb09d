import { createRedactor } from '../../secrets/redact.ts';
import type { Claim } from '../change-row.ts';
import { whyUnusable } from '../check-claim.ts';
import { type Held, type Settlement, wasLost } from '../claims.ts';
import { openClone, removeClone } from '../clone.ts';
import { type HeldFence } from '../fence.ts';
import { takeFence } from '../take-fence.ts';
import { removeOlderClones } from '../leftover-clones.ts';
import { createBookings } from './bookings.ts';
import type { AttemptContext, AttemptOptions } from './context.ts';
import type { Requests } from './requests.ts';
import { runAndPublish } from './run-and-publish.ts';
import { settlementOfError, settleWithRetries, retryAfterLease, failedOrRetry, withoutSecrets } from './settling.ts';
import { createStopping } from './stopping.ts';

/** The work of one worker on one change, from its claim to the end of the claim. */
export interface Attempt {
  /** Which change, with the current epoch. */
  held(): Held;
  /** The claim is gone: ends the agent, and writes nothing any more. */
  lose(why: string): void;
  /** Hands the change back after its iteration, or right now. */
  handBack(when: 'after-iteration' | 'now'): void;
  /** Reads what people have asked of the run, now. */
  readRequests(): void;
  /** The database is being told how the attempt has ended. It may know already. */
  isSettling(): boolean;
  /** Resolves when everything is over. Never rejects. */
  readonly ended: Promise<void>;
  /** Resolves when the cost of all iterations is booked, which may take as long as the database is down. */
  booked(): Promise<unknown>;
}

export const startAttempt = (options: AttemptOptions): Attempt => {
  const { database, remote, claim, folders, env } = options;
  const stopping = createStopping(options);
  let held: Held = claim;
  let readRequests = () => {};
  const onRequests = (requests: Requests) => {
    readRequests = () => void requests.read().catch(() => {});
  };
  let isSettling = false;
  const redactor = createRedactor({ ...env, SPOOL_REMOTE: remote.url });
  const context: AttemptContext = { ...options, stopping, held: () => held };
  const bookings = createBookings(context);

  const attemptAndSettle = async (): Promise<void> => {
    await options.previous;
    if (stopping.isLost()) return;
    const settlement = await attempt().catch((error: unknown) => settlementOfError(error, context));
    if (settlement === null || stopping.isLost()) return;
    isSettling = true;
    await settleWithRetries(context, withoutSecrets(settlement, redactor));
  };

  /** Returns what becomes of the change; null if it was lost. */
  const attempt = async (): Promise<Settlement | null> => {
    const unusable = whyUnusable(claim);
    if (unusable !== null) return { state: 'failed', detail: unusable };
    const onRaised = (raised: Claim) => {
      held = raised;
    };
    const fence = await takeFence(database, remote, { claim, onRaised });
    switch (fence.kind) {
      case 'lost':
        stopping.lose(fence.why);
        return null;
      case 'failed':
        return { state: 'failed', detail: fence.why };
      case 'unstored':
        return failedOrRetry(fence.why, context);
      case 'unreachable':
        return retryAfterLease(fence.why, context);
      case 'taken':
        return (await settlementBefore(fence)) ?? runInClone(fence);
    }
  };

  /** How the previous owner has ended the run, if the database has not heard of it. */
  const settlementBefore = async ({ note: { settled } }: HeldFence): Promise<Settlement | null> =>
    settled !== null && (await wasLost(database, held, settled.epoch)) ? settled.settlement : null;

  const runInClone = async (fence: HeldFence): Promise<Settlement | null> => {
    if (stopping.isLost()) return null;
    removeOlderClones(folders, held, env);
    const clone = await openClone(remote, folders, { held: fence, env, stop: stopping.signals.stop });
    if ('why' in clone)
      return clone.isTemporary ? retryAfterLease(clone.why, context) : failedOrRetry(clone.why, context);
    let isPublished = false;
    try {
      if (stopping.isLost()) return null;
      const ended = await runAndPublish(context, { clone, fence, bookings, redactor, onRequests });
      isPublished = ended?.isPublished ?? false;
      return ended && ended.settlement;
    } finally {
      // What could not be pushed stays on this machine.
      if (isPublished || stopping.isLost()) removeClone(clone, env);
    }
  };

  const ended = attemptAndSettle();
  return {
    held: () => held,
    lose: stopping.lose,
    handBack: stopping.handBack,
    readRequests: () => readRequests(),
    isSettling: () => isSettling,
    ended,
    booked: bookings.all,
  };
};
