import { sleep } from '../../process/timers.ts';
import type { RunContext } from '../context.ts';
import type { WorkTracker } from './track.ts';

/*
 * What an agent has done in an iteration that never finishes is lost with its machine. So the files are saved while it
 * works, and a worker that continues the run starts with them.
 */

/** Saves the files at intervals while an agent works. */
export const saveWhile = async <Result>(
  { cluster }: Pick<RunContext, 'cluster'>,
  tracker: Pick<WorkTracker, 'save'>,
  work: () => Promise<Result>,
): Promise<Result> => {
  if (cluster === null) return work();
  const ended = new AbortController();
  const saving = (async () => {
    for (;;) {
      await sleep(cluster.publishUnfinishedMs, ended.signal, { ref: false });
      if (ended.signal.aborted) return;
      const commit = await tracker.save().catch(() => null);
      if (commit !== null && !ended.signal.aborted) await cluster.publishUnfinished(commit).catch(() => {});
    }
  })();
  try {
    return await work();
  } finally {
    ended.abort();
    await saving;
  }
};
