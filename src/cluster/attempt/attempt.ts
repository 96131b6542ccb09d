import { createRedactor } from '../../secrets/redact.ts';
import type { Claim } from '../change-row.ts';
import { whyUnusable } from '../check-claim.ts';
import { type Held, type Settlement, wasLost } from '../claims.ts';
import { type Clone, openClone, removeClone } from '../clone.ts';
import { type HeldFence, takeFence } from '../fence.ts';
import { removeOlderClones } from '../left-clones.ts';
import { mirrorRun } from '../mirror-run.ts';
import { createPublisher } from '../publish.ts';
import { createBookings } from './bookings.ts';
import type { AttemptContext, AttemptOptions } from './context.ts';
import { createPublishing } from './publishing.ts';
import { repeat } from '../repeat.ts';
import { createRequests } from './requests.ts';
import { runChange } from './run-change.ts';
import { settlementOf, settlementOfError, settleSurely, tryLater, unlessMachine, withoutSecrets } from './settling.ts';
import { createStopping } from './stopping.ts';

/** The work of one worker on one change, from its claim to the end of the claim. */
export interface Attempt {
  /** Which change, with the current epoch. */
  held(): Held;
  /** The claim is gone: ends the agent, and writes nothing any more. */
  lose(why: string): void;
  /** Hands the change back after its iteration, or right now. */
  handBack(when: 'after-iteration' | 'now'): void;
  /** Looks for messages now. */
  look(): void;
  /** The database is being told how the attempt has ended. It may know already. */
  isSettling(): boolean;
  /** Resolves when everything is over. Never rejects. */
  readonly ended: Promise<void>;
  /** Resolves when the cost of all iterations is booked, which may take as long as the database is down. */
  booked(): Promise<unknown>;
}

/** How often events are copied into the database. */
const copyMs = 500;
/** How often the inbox is read without a notification. */
const inboxMs = 5000;

export const startAttempt = (options: AttemptOptions): Attempt => {
  const { database, remote, claim, folders, env } = options;
  const stopping = createStopping(options);
  let held: Held = claim;
  let look = () => {};
  let isSettling = false;
  const redactor = createRedactor({ ...env, SPOOL_REMOTE: remote.url });
  const context: AttemptContext = { ...options, stopping, held: () => held };
  const bookings = createBookings(context);

  const work = async (): Promise<void> => {
    await options.previous;
    if (stopping.isLost()) return;
    const settlement = await attempt().catch((error: unknown) => settlementOfError(error, context));
    if (settlement === null || stopping.isLost()) return;
    isSettling = true;
    await settleSurely(context, withoutSecrets(settlement, redactor));
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
        return unlessMachine(fence.why, context);
      case 'unreachable':
        return tryLater(fence.why, context);
      case 'taken':
        return (await settledBefore(fence)) ?? inClone(fence);
    }
  };

  /** How the previous owner has ended the run, if the database has not heard of it. */
  const settledBefore = async ({ note: { settled } }: HeldFence): Promise<Settlement | null> =>
    settled !== null && (await wasLost(database, held, settled.epoch)) ? settled.settlement : null;

  const inClone = async (fence: HeldFence): Promise<Settlement | null> => {
    if (stopping.isLost()) return null;
    removeOlderClones(folders, held, env);
    const clone = await openClone(remote, folders, { held: fence, env, stop: stopping.signals.stop });
    if ('why' in clone) return clone.isTemporary ? tryLater(clone.why, context) : unlessMachine(clone.why, context);
    let isPublished = false;
    try {
      if (stopping.isLost()) return null;
      const ending = await runIn(clone, fence);
      isPublished = ending?.isPublished ?? false;
      return ending && ending.settlement;
    } finally {
      // What could not be pushed stays on this machine.
      if (isPublished || stopping.isLost()) removeClone(clone, env);
    }
  };

  const runIn = async (clone: Clone, fence: HeldFence): Promise<Ending | null> => {
    const publishing = createPublishing(context, createPublisher({ ...options, clone, held: fence }));
    const requests = createRequests({ ...options, held, clone, applied: fence.note.inbox }, stopping);
    look = () => void requests.read().catch(() => {});
    const mirror = mirrorRun(database, held, clone);
    // Tells the events of the owners before apart from those of this one.
    await mirror.copy().catch(() => {});
    const copying = repeat(
      async () => {
        if (!(await mirror.copy())) stopping.lose('another worker has taken it');
      },
      { everyMs: copyMs },
    );
    const reading = repeat(requests.read, { everyMs: inboxMs });
    try {
      const result = await runChange(context, { clone, note: fence.note, publishing, requests, bookings });
      await Promise.all([copying.stop(), reading.stop()]);
      await mirror.copy().catch(() => {});
      if (stopping.isLost()) return null;
      const outcome = settlementOf(result, { cut: stopping.cut(), wantsPause: requests.wantsPause() });
      const settlement = withoutSecrets(outcome, redactor);
      const unpushed = await publishing.publishLast({ inbox: requests.applied(), settlement });
      return { settlement: unpushed ?? settlement, isPublished: unpushed === null };
    } finally {
      await Promise.all([copying.stop(), reading.stop()]);
      mirror.close();
    }
  };

  const ended = work();
  return {
    held: () => held,
    lose: stopping.lose,
    handBack: stopping.handBack,
    look: () => look(),
    isSettling: () => isSettling,
    ended,
    booked: bookings.all,
  };
};

interface Ending {
  readonly settlement: Settlement;
  /** The last state is on the remote. */
  readonly isPublished: boolean;
}
