import { openDatabase } from '../../cluster/database.ts';
import { followQueued } from '../../cluster/follow-queued.ts';
import { findQueued } from '../../cluster/queue.ts';
import { replay } from '../../report/replay.ts';
import { displayRecorded, withoutEnd } from '../runs/recorded-display.ts';
import { printRow } from '../with-queue/queued-status.ts';
import { type LiveRequest, problemOf, untilStopped } from './live.ts';
import type { StartedRow } from './model.ts';

export interface RemoteLive {
  readonly row: StartedRow;
  /** The key of the repository. */
  readonly key: string;
  readonly request: LiveRequest;
}

/** Follows a run on a worker. Resolves at once when it is stopped, even if the database does not answer. */
export const showRemote = async (url: string, { row, key, request }: RemoteLive): Promise<void> => {
  const { signal } = request;
  const display = displayRecorded(request);
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  try {
    await Promise.race([follow(url, { row, key, request, display }), stopped]);
  } catch (error) {
    display.warn(problemOf(error));
  } finally {
    display.dispose();
  }
};

const follow = async (
  url: string,
  { row, key, request, display }: RemoteLive & { readonly display: ReturnType<typeof displayRecorded> },
): Promise<void> => {
  const { project, env, terminal, signal } = request;
  const first = Math.max(1, row.iteration);
  const database = await openDatabase(url);
  const change = { project: key, id: row.change };
  try {
    const events = followQueued(database, change, {
      run: row.run,
      fromIteration: first,
      wait: true,
      signal,
      onTrouble: (problem) => {
        if (!signal.aborted) display.warn(`${problem} Trying again.`);
      },
    });
    await replay({
      events: untilStopped(events, signal),
      iteration: first,
      follow: true,
      display: withoutEnd(display),
      signal,
      drained: terminal.drained,
    });
    const now = signal.aborted ? null : await findQueued(database, change);
    if (now === null || signal.aborted) return;
    terminal.log('\n');
    const shownOn = { ...terminal, printResult: terminal.log };
    await printRow({ database, key, remote: '' }, now, { project, terminal: shownOn, env, json: false, all: false });
  } finally {
    void database.close().catch(() => {});
  }
};
