import { existsSync } from 'node:fs';
import { toUtf8 } from '../../git/paths.ts';
import { readPendingRefresh, type Refreshed, refreshIndex } from '../../git/refresh.ts';
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
  const state: RefresherState = { tree, emit, reverted: new Set(), isAnnounced: false };
  const poll = createPoll(state);
  return {
    async beforeAgent() {
      await poll.stop();
      const refreshed = await refreshNow(state, state.isAnnounced ? 0 : maxTries);
      if (refreshed?.kind !== 'behind') return;
      if (!state.isAnnounced) notify(state, staleBeforeAgent(refreshed.why));
      state.isAnnounced = true;
      poll.start();
    },
    async beforeCommit() {
      await poll.stop();
      await refreshNow(state, 0);
      const names = [...state.reverted];
      state.reverted.clear();
      return names;
    },
    afterCommit(commit, refreshed) {
      if (refreshed.kind === 'behind' && !state.isAnnounced) notify(state, staleAfterCommit(commit, refreshed.why));
    },
    async atEnd() {
      await poll.stop();
      const refreshed = await refreshNow(state, maxTriesAtEnd);
      if (refreshed?.kind === 'behind') notify(state, staleAtEnd(refreshed.why));
    },
  };
};

interface RefresherState {
  readonly tree: WorkTree;
  readonly emit: Emit;
  /** Files that a commit from a stale index has reverted. */
  readonly reverted: Set<string>;
  /** The user knows that the index is stale. */
  isAnnounced: boolean;
}

const notify = ({ emit }: RefresherState, text: string): void => emit({ type: 'notice', text });

/** Returns null if the index is up to date. */
const refreshNow = async (state: RefresherState, retries: number): Promise<Refreshed | null> => {
  const { tree, reverted } = state;
  const pending = readPendingRefresh(tree);
  const refreshed = pending && (await refreshIndex(tree, pending, { retries }));
  if (refreshed?.kind !== 'refreshed') return refreshed;
  state.isAnnounced = false;
  const { names, undone } = refreshed;
  if (names.length > 0) notify(state, `Index updated to the last commit: ${formatNames(names)}.`);
  for (const name of undone) reverted.add(name);
  if (undone.length > 0) notify(state, `A commit from a stale index reverted committed work: ${formatNames(undone)}.`);
  return refreshed;
};

/** Tries again as soon as the index is unlocked. */
const createPoll = (state: RefresherState) => {
  let timer: NodeJS.Timeout | undefined;
  let pending: Promise<unknown> | null = null;
  const clear = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const tick = () => {
    if (pending !== null || existsSync(`${state.tree.index}.lock`)) return;
    pending = refreshNow(state, 0).then((refreshed) => {
      pending = null;
      if (refreshed?.kind !== 'behind') clear();
    });
  };
  return {
    start: () => {
      timer ??= setInterval(tick, pollMs).unref();
    },
    /** Resolves when nothing is being tried any more. */
    stop: async () => {
      clear();
      await pending;
    },
  };
};

const staleBeforeAgent = (why: string): string =>
  `${why}, so the index does not include the last commit yet. If no git command is running, delete that file; the index is updated as soon as it is gone.`;

const staleAfterCommit = (commit: string | null, why: string): string => {
  const which = commit === null ? 'the commit' : `commit ${commit.slice(0, 8)}`;
  return `The index could not be updated after ${which}: ${why}. Spool tries again before the next iteration.`;
};

const staleAtEnd = (why: string): string =>
  `${why}, so the index does not include the last commit. If no git command is running, delete that file; then run git reset, or start Spool again, before you commit.`;

const formatNames = (names: readonly string[]) => someOf(names.map(toUtf8));
