import { createRedactor, type Redactor } from '../../secrets/redact.ts';
import type { Claim } from '../change-row.ts';
import { whyUnusable } from '../check-claim.ts';
import { type Held, type Settlement, wasLost } from '../claims.ts';
import { openClone, removeClone } from '../clone.ts';
import { type HeldFence } from '../fence.ts';
import { takeFence } from '../take-fence.ts';
import { removeOlderClones } from '../leftover-clones.ts';
import { type Bookings, createBookings } from './bookings.ts';
import type { AttemptContext, AttemptOptions } from './context.ts';
import type { Requests } from './requests.ts';
import { runAndPublish } from './run-and-publish.ts';
import { settlementOfError, settleWithRetries, retryAfterLease, failedOrRetry, withoutSecrets } from './settling.ts';
import { createStopping } from './stopping.ts';

/** The work of one worker on one change, from its claim to the end of the claim. */
export interface ChangeAttempt {
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

export const startAttempt = (options: AttemptOptions): ChangeAttempt => {
  const { claim, env, remote } = options;
  const stopping = createStopping(options);
  const state: AttemptState = { held: claim, requests: null, isSettling: false };
  const context: AttemptContext = { ...options, stopping, held: () => state.held };
  const bookings = createBookings(context);
  const redactor = createRedactor({ ...env, SPOOL_REMOTE: remote.url });
  const ended = runAndSettle({ ...context, state, bookings, redactor });
  return {
    held: () => state.held,
    lose: stopping.lose,
    handBack: stopping.handBack,
    readRequests: () => void state.requests?.read().catch(() => {}),
    isSettling: () => state.isSettling,
    ended,
    booked: bookings.all,
  };
};

interface AttemptState {
  held: Held;
  /** null until the run starts. */
  requests: Requests | null;
  isSettling: boolean;
}

interface StartedAttempt extends AttemptContext {
  readonly state: AttemptState;
  readonly bookings: Bookings;
  readonly redactor: Redactor;
}

const runAndSettle = async (attempt: StartedAttempt): Promise<void> => {
  const { state, stopping, redactor } = attempt;
  await attempt.previous;
  if (stopping.isLost()) return;
  const settlement = await takeAndRun(attempt).catch((error: unknown) => settlementOfError(error, attempt));
  if (settlement === null || stopping.isLost()) return;
  state.isSettling = true;
  await settleWithRetries(attempt, withoutSecrets(settlement, redactor));
};

/** Returns what becomes of the change; null if it was lost. */
const takeAndRun = async (attempt: StartedAttempt): Promise<Settlement | null> => {
  const { database, remote, claim, state, stopping } = attempt;
  const unusable = whyUnusable(claim);
  if (unusable !== null) return { state: 'failed', detail: unusable };
  const onRaised = (raised: Claim) => {
    state.held = raised;
  };
  const fence = await takeFence(database, remote, { claim, onRaised });
  switch (fence.kind) {
    case 'lost':
      stopping.lose(fence.why);
      return null;
    case 'failed':
      return { state: 'failed', detail: fence.why };
    case 'unstored':
      return failedOrRetry(fence.why, attempt);
    case 'unreachable':
      return retryAfterLease(fence.why, attempt);
    case 'taken':
      return (await settlementBefore(attempt, fence)) ?? runInClone(attempt, fence);
  }
};

/** How the previous owner has ended the run, if the database has not heard of it. */
const settlementBefore = async (
  { database, state }: StartedAttempt,
  { data: { settled } }: HeldFence,
): Promise<Settlement | null> =>
  settled !== null && (await wasLost(database, state.held, settled.epoch)) ? settled.settlement : null;

const runInClone = async (attempt: StartedAttempt, fence: HeldFence): Promise<Settlement | null> => {
  const { remote, folders, env, state, stopping, bookings, redactor } = attempt;
  if (stopping.isLost()) return null;
  removeOlderClones(folders, state.held, env);
  const clone = await openClone(remote, folders, { held: fence, env, stop: stopping.signals.stop });
  if ('why' in clone)
    return clone.isTemporary ? retryAfterLease(clone.why, attempt) : failedOrRetry(clone.why, attempt);
  const onRequests = (requests: Requests) => {
    state.requests = requests;
  };
  let isPublished = false;
  try {
    if (stopping.isLost()) return null;
    const ended = await runAndPublish(attempt, { clone, fence, bookings, redactor, onRequests });
    isPublished = ended?.isPublished ?? false;
    return ended && ended.settlement;
  } finally {
    // What could not be pushed stays on this machine.
    if (isPublished || stopping.isLost()) removeClone(clone, env);
  }
};
