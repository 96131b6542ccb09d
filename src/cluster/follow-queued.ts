import { asUserError } from '../errors.ts';
import type { FollowedEvent } from '../store/follow.ts';
import type { ChangeKey } from './change-row.ts';
import type { Database } from './database.ts';
import { createFollower, type FollowerOptions, readOn } from './queued-follower.ts';
import { createWake } from './wake.ts';

export interface FollowQueuedOptions extends Omit<FollowerOptions, 'database' | 'key'> {
  readonly signal: AbortSignal;
  /** Called when the queue cannot be reached, once for each time. */
  readonly onTrouble: (problem: string) => void;
}

/** As often as workers copy events. They do not notify: Postgres wakes every listening worker for every notification. */
const pollMs = 500;

/**
 * Yields the events of a change that workers run, as `followRun` does for one on this machine. It continues with the
 * worker that takes over, and while no worker has the change. Ends when the change has ended in the queue: only that
 * decides, because agents can write to the journal of a worker.
 */
export async function* followQueued(
  database: Database,
  key: ChangeKey,
  options: FollowQueuedOptions,
): AsyncGenerator<FollowedEvent, void, undefined> {
  const { wait, signal, onTrouble } = options;
  const wake = createWake(signal);
  if (wait) database.listen({ spool_queue: wake.now });
  const follower = createFollower({ ...options, database, key });
  let isCutOff = false;
  while (!signal.aborted) {
    try {
      const next = yield* readOn(follower);
      isCutOff = false;
      if (next === 'ended') return;
      if (next === 'more') continue;
    } catch (error) {
      if (!wait || asUserError(error) === null) throw error;
      if (!isCutOff) onTrouble((error as Error).message);
      isCutOff = true;
    }
    await wake.within(pollMs);
  }
}
