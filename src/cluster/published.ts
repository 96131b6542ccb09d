import { openPrivateMirror } from '../store/private-mirror.ts';
import { fetchRefs, type Remote } from '../git/remote.ts';
import { borrowObjects, commitInMirror } from '../git/mirror.ts';
import { messageOf, readStoredFile, storedSize } from '../git/stored-files.ts';
import type { Ledger } from '../ralph/proof.ts';
import type { ChangeRow } from './change-row.ts';
import { whyUnusable } from './check-claim.ts';
import { fenceRef, type FenceData, mirrored, parseFence } from './fence.ts';
import { ledgerPath, maxLedger, readSentLedger } from './sent-ledger.ts';

type Published = Pick<ChangeRow, 'id' | 'run' | 'request' | 'fence' | 'open_fences'>;

interface Problem {
  readonly why: string;
}

/** Reads what workers have pushed, for a process that asks often: through one mirror, which only it uses. */
export interface PublishedReader {
  /** A file of the state, such as a log; null if it is not there. */
  file(row: Published, path: string): Promise<Buffer | Problem | null>;
  /** The mirror, which has their commits, and the checkpoints of a change. */
  checkpoints(
    row: Published,
  ): Promise<{ readonly mirror: string; readonly checkpoints: FenceData['checkpoints'] } | Problem>;
  /** The ledger of the run, as far as it is believed; null if there is none. */
  ledger(row: Published): Promise<Ledger | null>;
}

export interface PublishedOptions {
  /** The address of the git remote. */
  readonly url: string;
  /** A repository of the project, whose objects need not be fetched. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
}

export const unknownState = 'the state on the remote was not written by a worker of this queue';

export const createPublishedReader = (options: PublishedOptions): PublishedReader => {
  let opened: Remote | null = null;
  let last: Promise<unknown> = Promise.resolve();
  const open = async (): Promise<Remote | Problem> => {
    if (opened !== null) return opened;
    const remote = await openPrivateMirror(options.url, options.env);
    if ('why' in remote) return remote;
    await borrowObjects(remote, options.root);
    opened = remote;
    return remote;
  };
  /** Fetches are one at a time. What was fetched for one page is there for all. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const next = last.then(work);
    last = next.catch(() => {});
    return next;
  };
  const fetchState = async (row: Published): Promise<StoredState | Problem> => {
    const unusable = whyUnusable(row);
    if (unusable !== null) return { why: unusable };
    const remote = await open();
    if ('why' in remote) return remote;
    const { mirror } = remote;
    const own = mirrored(row.id, 'fence');
    const before = await commitInMirror(remote, own);
    if (before !== null && before === row.fence) return { mirror, commit: before };
    const problem = await fetchRefs(remote, [`+${fenceRef(row.id)}:${own}`]);
    if (problem !== null) return { why: problem };
    const commit = await commitInMirror(remote, own);
    if (commit !== null && isAnnounced(row, commit)) return { mirror, commit };
    // The row may have been read before the last push.
    const announced = row.fence && (await commitInMirror(remote, `${row.fence}^{commit}`));
    return announced ? { mirror, commit: announced } : { why: unknownState };
  };
  const stateOf = (row: Published) => inTurn(() => fetchState(row));
  return {
    file: async (row, path) => {
      const state = await stateOf(row);
      return 'why' in state ? state : readStoredFile(state.mirror, state.commit, path);
    },
    checkpoints: async (row) => {
      const state = await stateOf(row);
      if ('why' in state) return state;
      const data = parseFence((await messageOf(state.mirror, state.commit)) ?? '');
      return data === null ? { why: unknownState } : { mirror: state.mirror, checkpoints: data.checkpoints };
    },
    ledger: async (row) => {
      const state = await stateOf(row);
      return 'why' in state ? null : ledgerIn(state, row);
    },
  };
};

/** The same for a process that asks once, and needs only the last state. */
export const readPublished = async (
  row: Published,
  path: string,
  options: LastStateOptions,
): Promise<Buffer | Problem | null> => {
  const state = await fetchLastState(row, options);
  return 'why' in state ? state : readStoredFile(state.mirror, state.commit, path);
};

/** The ledger of a run, as far as it is believed; null if there is none. */
export const readPublishedLedger = async (
  row: Published,
  options: LastStateOptions,
): Promise<Ledger | Problem | null> => {
  const unusable = whyUnusable(row);
  if (unusable !== null) return { why: unusable };
  const state = await fetchLastState(row, options);
  return 'why' in state ? state : ledgerIn(state, row);
};

type LastStateOptions = Pick<PublishedOptions, 'url' | 'env'>;

/** A commit of a mirror with the state of a run. */
interface StoredState {
  readonly mirror: string;
  readonly commit: string;
}

const fetchLastState = async (row: Published, { url, env }: LastStateOptions): Promise<StoredState | Problem> => {
  const remote = await openPrivateMirror(url, env);
  if ('why' in remote) return remote;
  const own = mirrored(row.id, 'fence');
  const problem = await fetchRefs(remote, [`+${fenceRef(row.id)}:${own}`], { depth: 1 });
  if (problem !== null) return { why: problem };
  const commit = await commitInMirror(remote, own);
  return commit === null || !isAnnounced(row, commit) ? { why: unknownState } : { mirror: remote.mirror, commit };
};

const ledgerIn = async ({ mirror, commit }: StoredState, { id, run }: Published): Promise<Ledger | null> => {
  const data = parseFence((await messageOf(mirror, commit)) ?? '');
  const size = await storedSize(mirror, commit, ledgerPath);
  if (data === null || run === null || size === null || size > maxLedger) return null;
  const content = await readStoredFile(mirror, commit, ledgerPath);
  return readSentLedger(content, { change: id, run, data, commits: null });
};

/** Anyone with push access could write a state. Only one that a worker has announced in the queue is used. */
export const isAnnounced = (
  { fence, open_fences: open }: Pick<Published, 'fence' | 'open_fences'>,
  commit: string,
): boolean => [fence, ...open].includes(commit);
