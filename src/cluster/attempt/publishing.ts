import { setTimeout as delay } from 'node:timers/promises';
import type { Settlement } from '../claims.ts';
import type { PushedFence } from '../push-fence.ts';
import { confirmContext } from '../inbox.ts';
import type { News, Publisher } from '../publisher.ts';
import type { AttemptContext } from './context.ts';
import { failedOrRetry } from './settling.ts';

/** Pushes the state of a run, and acts on the answer of the remote. */
export interface Publishing {
  /** During the run. What cannot be pushed now is pushed the next time. */
  publish(news: News): Promise<void>;
  /** After the run. Returns the settlement if the last state cannot be pushed; null if it was. */
  publishLast(news: News): Promise<Settlement | null>;
}

/** How long a worker tries to push the last state of a run. */
const lastPushMs = 15 * 60_000;

export const createPublishing = (context: AttemptContext, publisher: Publisher): Publishing => {
  const { database, claim, held, stopping, counters, log } = context;
  const { isLost } = stopping;

  const loseTo = ({ why }: Extract<PushedFence, { kind: 'lost' }>): void => {
    counters.refused++;
    stopping.lose(why);
  };
  const confirm = async ({ inbox }: News): Promise<void> => {
    await confirmContext(database, held(), inbox).catch(() => {});
  };

  return {
    publish: async (news) => {
      // Losing the claim has interrupted the iteration. Even if no other worker has taken the change yet, it is no result.
      if (isLost()) return;
      const pushed = await publisher.publish(news);
      if (isLost()) {
        const how = pushed.kind === 'pushed' ? 'in time' : `rejected (${pushed.why})`;
        log(`${claim.id}: pushed after the claim was lost: ${how}`);
      }
      if (pushed.kind === 'lost') return loseTo(pushed);
      if (isLost()) return;
      if (pushed.kind === 'conflict') return stopping.cutShort({ kind: 'failed', why: pushed.why });
      if (pushed.kind === 'failed') return log(`${claim.id}: not pushed yet: ${pushed.why}`);
      await confirm(news);
    },
    publishLast: async (news) => {
      const endMs = performance.now() + lastPushMs;
      for (;;) {
        const pushed = await publisher.publish(news);
        if (pushed.kind === 'pushed') {
          await confirm(news);
          return null;
        }
        if (pushed.kind === 'lost') loseTo(pushed);
        const isHopeless = isLost() || pushed.kind === 'conflict' || performance.now() > endMs;
        if (isHopeless) return failedOrRetry(pushed.why, context);
        log(`${claim.id}: not pushed yet: ${pushed.why}`);
        await delay(1000);
      }
    },
  };
};
