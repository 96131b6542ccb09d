import { existsSync } from 'node:fs';
import { toUtf8 } from '../../git/paths.ts';
import { readIndexNote, type Refreshed, refreshIndex } from '../../git/refresh.ts';
import type { WorkTree } from '../../git/work-tree.ts';
import { someOf } from '../../text/format.ts';
import type { Emit } from '../../ralph/events.ts';

/** Updates the user's index after Spool has committed with a separate index. */
export interface IndexRefresher {
  /** Called before an agent starts, which may commit. Waits a while if the index is locked. */
  beforeAgent(): Promise<void>;
  /** Returns the files that a commit from a stale index has reverted. Each is returned once. */
  beforeCommit(): Promise<readonly string[]>;
  afterCommit(commit: string | null, refreshed: Refreshed): void;
  atEnd(): Promise<void>;
}

const maxTries = 12;
const maxTriesAtEnd = 4;
const pollMs = 250;

export const createIndexRefresher = (tree: WorkTree, emit: Emit): IndexRefresher => {
  const reverted = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let pending: Promise<unknown> | null = null;
  let isAnnounced = false;
  const say = (text: string) => emit({ type: 'notice', text });

  const tryNow = async (retries: number): Promise<Refreshed | null> => {
    const note = readIndexNote(tree);
    const refreshed = note && (await refreshIndex(tree, note, { retries }));
    if (refreshed?.kind !== 'refreshed') return refreshed;
    isAnnounced = false;
    if (refreshed.names.length > 0) say(`Index updated to the last commit: ${formatNames(refreshed.names)}.`);
    for (const name of refreshed.undone) reverted.add(name);
    if (refreshed.undone.length > 0)
      say(`A commit from a stale index reverted committed work: ${formatNames(refreshed.undone)}.`);
    return refreshed;
  };

  /** Tries again as soon as the index is unlocked. */
  const tryLater = () => {
    timer ??= setInterval(() => {
      if (pending !== null || existsSync(`${tree.index}.lock`)) return;
      pending = tryNow(0).then((refreshed) => {
        pending = null;
        if (refreshed?.kind !== 'behind') stop();
      });
    }, pollMs).unref();
  };
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const pause = async () => {
    stop();
    await pending;
  };

  return {
    async beforeAgent() {
      await pause();
      const refreshed = await tryNow(isAnnounced ? 0 : maxTries);
      if (refreshed?.kind !== 'behind') return;
      if (!isAnnounced)
        say(
          `${refreshed.why}, so the index does not include the last commit yet. If no git command is running, delete that file; the index is updated as soon as it is gone.`,
        );
      isAnnounced = true;
      tryLater();
    },
    async beforeCommit() {
      await pause();
      await tryNow(0);
      const names = [...reverted];
      reverted.clear();
      return names;
    },
    afterCommit(commit, refreshed) {
      if (refreshed.kind !== 'behind' || isAnnounced) return;
      const which = commit === null ? 'the commit' : `commit ${commit.slice(0, 8)}`;
      say(
        `The index could not be updated after ${which}: ${refreshed.why}. Spool tries again before the next iteration.`,
      );
    },
    async atEnd() {
      await pause();
      const refreshed = await tryNow(maxTriesAtEnd);
      if (refreshed?.kind !== 'behind') return;
      say(
        `${refreshed.why}, so the index does not include the last commit. If no git command is running, delete that file; then run git reset, or start Spool again, before you commit.`,
      );
    },
  };
};

const formatNames = (names: readonly string[]) => someOf(names.map(toUtf8));
