import { existsSync } from 'node:fs';
import { toUtf8 } from '../git/git.ts';
import { readIndexNote, type Refreshed, refreshIndex } from '../git/refresh.ts';
import type { WorkTree } from '../git/worktree.ts';
import { someOf } from '../text/format.ts';
import type { Emit } from '../ralph/events.ts';

/** Sees to it that the user's index is not left behind a commit of Spool's. */
export interface IndexKeeper {
  /** Before an agent works, who may commit: waits a while for whoever holds the index. */
  beforeAgent(): Promise<void>;
  /** Answers with what a commit from an index that was behind has taken out of HEAD, each once. */
  beforeCommit(): Promise<readonly string[]>;
  afterCommit(commit: string | null, refreshed: Refreshed): void;
  atEnd(): Promise<void>;
}

const patience = 12;
const shortPatience = 4;
const looksEveryMs = 250;

export const keepIndex = (tree: WorkTree, emit: Emit): IndexKeeper => {
  const undone = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let trying: Promise<unknown> | null = null;
  let isSaid = false;
  const say = (text: string) => emit({ type: 'notice', text });

  const tryNow = async (tries: number): Promise<Refreshed | null> => {
    const note = readIndexNote(tree);
    const refreshed = note && (await refreshIndex(tree, note, { tries }));
    if (refreshed?.kind !== 'refreshed') return refreshed;
    isSaid = false;
    if (refreshed.names.length > 0) say(`Index updated to the last commit: ${shown(refreshed.names)}.`);
    for (const name of refreshed.undone) undone.add(name);
    if (refreshed.undone.length > 0)
      say(`A commit from a stale index reverted committed work: ${shown(refreshed.undone)}.`);
    return refreshed;
  };

  /** While an agent works: as soon as whoever holds the index lets it go. */
  const tryLater = () => {
    timer ??= setInterval(() => {
      if (trying !== null || existsSync(`${tree.index}.lock`)) return;
      trying = tryNow(0).then((refreshed) => {
        trying = null;
        if (refreshed?.kind !== 'behind') stop();
      });
    }, looksEveryMs).unref();
  };
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const pause = async () => {
    stop();
    await trying;
  };

  return {
    async beforeAgent() {
      await pause();
      const refreshed = await tryNow(isSaid ? 0 : patience);
      if (refreshed?.kind !== 'behind') return;
      if (!isSaid)
        say(
          `${refreshed.why}, so the index does not include the last commit yet. If no git command is running, delete that file; the index is updated as soon as it is gone.`,
        );
      isSaid = true;
      tryLater();
    },
    async beforeCommit() {
      await pause();
      await tryNow(0);
      const names = [...undone];
      undone.clear();
      return names;
    },
    afterCommit(commit, refreshed) {
      if (refreshed.kind !== 'behind' || isSaid) return;
      const which = commit === null ? 'the commit' : `commit ${commit.slice(0, 8)}`;
      say(
        `The index could not be updated after ${which}: ${refreshed.why}. Spool tries again before the next iteration.`,
      );
    },
    async atEnd() {
      await pause();
      const refreshed = await tryNow(shortPatience);
      if (refreshed?.kind !== 'behind') return;
      say(
        `${refreshed.why}, so the index does not include the last commit. If no git command is running, delete that file; then run git reset, or start Spool again, before you commit.`,
      );
    },
  };
};

const shown = (names: readonly string[]) => someOf(names.map(toUtf8));
