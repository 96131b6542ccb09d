import { branchOf } from '../changes/branch.ts';
import { findRef } from '../git/branches.ts';
import { whyNoRepository } from '../git/repository.ts';
import { checkpointPattern, workRef } from '../git/checkpoint.ts';
import { type Remote } from '../git/remote.ts';
import { fetchFromClone, refsInMirror } from '../git/mirror.ts';
import { storeFiles } from '../git/stored-files.ts';
import { transferableFiles } from '../store/transfer.ts';
import type { Settlement } from './claims.ts';
import type { Clone } from './clone.ts';
import type { Database } from './database.ts';
import { fenceMessage, type FenceData, type HeldFence, keyOf, mirrored } from './fence.ts';
import { pushFence, type PushedFence } from './push-fence.ts';

/** Brings the work and the state of a run to the remote. */
export interface Publisher {
  /** Pushes what has changed since the last time. One at a time; never rejects. */
  publish(news: News): Promise<PushedFence>;
  /** The fence as it was pushed last. */
  held(): HeldFence;
}

export interface News {
  /** The last message of the inbox that is in the state. */
  readonly inbox: number;
  /** A commit with the files of an iteration that has not finished. */
  readonly work?: string | null;
  /** How the attempt has ended. */
  readonly settlement?: Settlement;
}

export interface PublisherOptions {
  readonly database: Database;
  readonly remote: Remote;
  readonly clone: Clone;
  readonly held: HeldFence;
  readonly env: NodeJS.ProcessEnv;
}

export const createPublisher = ({ database, remote, clone, env, ...given }: PublisherOptions): Publisher => {
  let { held } = given;
  const { claim } = held;
  const of = { project: clone.project, change: claim.id, env };
  /** The files that the fence has, with their stamps. */
  const known = new Map(transferableFiles(of).map(({ path, stamp }) => [path, stamp]));
  let last: Promise<unknown> = Promise.resolve();

  const push = async (news: News): Promise<PushedFence> => {
    const work = await copyWork(remote.mirror, clone.top, claim.id);
    if ('why' in work) return { kind: work.isDamaged ? 'conflict' : 'failed', why: work.why };
    const files = changesSince(known, transferableFiles(of));
    const data = dataOf(held, work, news);
    const stored = await storeState(remote, { held, data, files, tip: work.tip });
    if ('why' in stored) return { kind: 'failed', why: stored.why };
    const tip = work.tip === held.tip ? null : work.tip;
    const pushed = await pushFence(database, remote, { held, commit: stored.commit, tip });
    if (pushed.kind !== 'pushed') return pushed;
    held = { ...held, commit: stored.commit, data, tip: work.tip };
    for (const [path, { stamp }] of files.changed) known.set(path, stamp);
    for (const path of files.deleted) known.delete(path);
    return pushed;
  };

  return {
    held: () => held,
    publish: (news) => {
      const next = last
        .then(() => push(news))
        .catch((error: unknown): PushedFence => ({
          kind: 'failed',
          why: (error as Error).message,
        }));
      last = next;
      return next;
    },
  };
};

const dataOf = (
  { claim, data }: HeldFence,
  { checkpoints }: CopiedWork,
  { inbox, work = null, settlement }: News,
): FenceData => ({
  epoch: claim.epoch,
  owner: claim.owner,
  run: checkpoints.at(-1)?.run ?? data.run,
  inbox,
  work,
  settled: settlement === undefined ? null : { epoch: claim.epoch, settlement },
  checkpoints,
});

interface NextState {
  readonly held: HeldFence;
  readonly data: FenceData;
  readonly files: FileChanges;
  /** The tip of the branch; null if there is none. */
  readonly tip: string | null;
}

/** Stores the state of the run in the mirror, as a commit on top of the fence. */
const storeState = ({ mirror }: Remote, { held, data, files, tip }: NextState) =>
  storeFiles({
    mirror,
    ref: mirrored(held.claim.id, 'next'),
    base: held.commit,
    files: new Map<string, Buffer | null>([
      ...[...files.changed].map(([path, { content }]) => [path, content] as const),
      ...files.deleted.map((path) => [path, null] as const),
    ]),
    message: fenceMessage(held.claim.id, data),
    // Everything that the state refers to must be on the remote.
    parents: [
      held.commit,
      ...newIn(data.checkpoints, held.data.checkpoints),
      ...[tip, data.work].filter((commit) => commit !== null),
    ],
  });

interface FileChanges {
  readonly changed: ReadonlyMap<string, { readonly stamp: string; readonly content: Buffer }>;
  readonly deleted: readonly string[];
}

/** Compares files with those that are known, by path and stamp. One that cannot be read now is left for the next time. */
const changesSince = (known: ReadonlyMap<string, string>, files: ReturnType<typeof transferableFiles>): FileChanges => {
  const changed = new Map<string, { stamp: string; content: Buffer }>();
  for (const { path, stamp, read } of files) {
    if (known.get(path) === stamp) continue;
    const content = read();
    if (content !== null) changed.set(path, { stamp, content });
  }
  const present = new Set(files.map(({ path }) => path));
  return { changed, deleted: [...known.keys()].filter((path) => !present.has(path)) };
};

type Checkpoints = FenceData['checkpoints'];

/** The fence before has the others as its ancestors. */
const newIn = (checkpoints: Checkpoints, before: Checkpoints): string[] => {
  const known = new Set(before.map(({ commit }) => commit));
  return [...new Set(checkpoints.map(({ commit }) => commit))].filter((commit) => !known.has(commit));
};

interface CopiedWork {
  /** The tip of the branch; null if there is none. */
  readonly tip: string | null;
  readonly checkpoints: Checkpoints;
}

interface CopyProblem {
  readonly why: string;
  /** Whether an agent has made the clone unusable. Trying again does not help. */
  readonly isDamaged: boolean;
}

const damaged = (why: string): CopyProblem => ({ why: `its clone is damaged: ${why}`, isDamaged: true });

/** Copies the branch and the checkpoints of a clone into the mirror. */
const copyWork = async (mirror: string, top: string, change: string): Promise<CopiedWork | CopyProblem> => {
  const own = `refs/spool/clones/${keyOf(change)}`;
  const branch = `refs/heads/${branchOf(change)}`;
  const damage = await whyNoRepository(top);
  if (damage !== null) return damaged(damage);
  const found = await findRef(top, branch);
  // If the branch cannot be read, that does not mean it does not exist: the state must not be pushed without its commits.
  if (!found.ok) return damaged(found.why);
  const problem = await fetchFromClone(mirror, top, [
    ...(found.exists ? [`+${branch}:${own}/branch`] : []),
    `+${checkpointPattern(change)}:${own}/checkpoints/*`,
    // A pattern, because there may be none.
    `+${workRef(change)}*:${own}/work*`,
  ]);
  if (problem !== null) {
    const damage = await whyNoRepository(top);
    return damage === null ? { why: problem, isDamaged: false } : damaged(damage);
  }
  const refs = await refsInMirror({ mirror }, `${own}/`);
  if ('why' in refs) return { why: refs.why, isDamaged: false };
  const below = `${own}/checkpoints/`;
  return {
    tip: found.exists ? (refs.find(({ name }) => name === `${own}/branch`)?.commit ?? null) : null,
    checkpoints: refs.flatMap(({ name: ref, commit }) => {
      const [run, name] = ref.startsWith(below) ? ref.slice(below.length).split('/') : [];
      return run === undefined || name === undefined ? [] : [{ run, name, commit }];
    }),
  };
};
