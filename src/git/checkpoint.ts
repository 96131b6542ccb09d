import type { Redactor } from '../secrets/redact.ts';
import { git } from './call/git.ts';
import { noFetch } from './call/inert.ts';
import { covers, type SkippedPath } from './snapshot/skipped.ts';
import { snapshotTree } from './snapshot/trees.ts';
import type { WorkTree } from './work-tree.ts';

/** A work tree as it was, as a commit that no branch knows. */
export interface Checkpoint {
  /** `0` is before the first iteration, `7` after the seventh, `before-7` what a person had changed by then, `r1` before the first rewind. */
  readonly name: string;
  readonly run: string;
  readonly commit: string;
}

export interface Checkpoints {
  /** The tree of the newest one; null when there is none yet. */
  lastTree(): string | null;
  /** The same, and by when it was taken, for the one that was there when they were opened. */
  readonly found: { readonly treeId: string; readonly atMs: number } | null;
  /** Keeps the work tree as it is before an iteration; it is checkpoint 0 when it is the first. */
  before(iteration: number, treeId: string): Promise<void>;
  /** Answers with the commit; null when git refuses. */
  after(iteration: number, treeId: string): Promise<string | null>;
}

export interface CheckpointRun {
  readonly change: string;
  readonly run: string;
  /** The last iteration that is recorded: what comes after it was cut off, and is made anew. */
  readonly finished: number;
  /** Called with each one before it can be found. */
  readonly record: (checkpoint: Checkpoint) => void;
}

/**
 * The checkpoints of one run. Each has the one before as its parent; what a person changed in between is a commit of
 * its own between the two, so that the difference to the parent is what the iteration did. An iteration that did
 * nothing has the commit of the one before.
 */
export const openCheckpoints = async (
  tree: WorkTree,
  { change, run, finished, record }: CheckpointRun,
): Promise<Checkpoints> => {
  const known = await listCheckpoints(tree, change, run);
  const numbered = known.filter(({ name }) => /^\d+$/.test(name) && Number(name) <= finished);
  const newest = numbered.toSorted((a, b) => Number(b.name) - Number(a.name))[0];
  let last = newest?.commit ?? null;
  const found = last === null ? null : await readCheckpoint(tree, last);
  let lastTree = found?.treeId ?? null;
  /** The last one is that of an iteration, so that the next may share it. */
  let named = true;

  const add = async (treeId: string, what: string): Promise<string | null> => {
    const message = `spool checkpoint: ${change}, ${what}`;
    // Where the one before is gone, with its repository, a new chain begins.
    const commit =
      (await commitTree(tree, { treeId, parent: last, message })) ??
      (last === null ? null : await commitTree(tree, { treeId, parent: null, message }));
    if (commit === null) return null;
    [last, lastTree] = [commit, treeId];
    return commit;
  };

  return {
    found,
    lastTree: () => lastTree,
    async before(iteration, treeId) {
      if (last !== null && treeId === lastTree) return;
      const first = last === null;
      const commit = await add(treeId, `before ${first ? 'the first iteration' : `iteration ${iteration}`}`);
      if (commit === null) return;
      named = first;
      const name = first ? '0' : `before-${iteration}`;
      record({ run, name, commit });
      await setRef(tree, refOf(change, run, name), commit);
    },
    async after(iteration, treeId) {
      const same = named && treeId === lastTree;
      const commit = same ? last : await add(treeId, `iteration ${iteration}`);
      if (commit === null) return null;
      named = true;
      const name = String(iteration);
      record({ run, name, commit });
      return (await setRef(tree, refOf(change, run, name), commit)) ? commit : null;
    },
  };
};

const readCheckpoint = async ({ root }: WorkTree, commit: string) => {
  const { stdout } = await git(['cat-file', 'commit', commit], { cwd: root, env: noFetch });
  const [header = ''] = stdout.split('\n\n', 1);
  const treeId = /^tree (\w+)\n/.exec(header)?.[1];
  const seconds = /^committer .* (\d+) [-+]\d+$/m.exec(header)?.[1];
  // git counts whole seconds.
  return treeId === undefined || seconds === undefined ? null : { treeId, atMs: (Number(seconds) + 1) * 1000 };
};

export interface PresentRequest {
  readonly change: string;
  readonly run: string;
  /** What is left out of it. */
  readonly leftOut?: readonly SkippedPath[];
  /** Files that look like secrets are left out of it. */
  readonly redactor: Redactor;
  /** Called with it before it can be found. */
  readonly record: (checkpoint: Checkpoint) => void;
  /** What it must hold; null for all that git can be asked to add. */
  readonly names?: readonly string[] | null;
}

/** Keeps the present as the next `r1`, `r2`, … of a run; null when that is not possible, or does not hold what it must. */
export const keepPresent = async (
  tree: WorkTree,
  { change, run, record, redactor, leftOut = [], names = null }: PresentRequest,
): Promise<Checkpoint | null> => {
  const taken = await listCheckpoints(tree, change, run);
  const numbers = taken.map(({ name }) => Number(/^r(\d+)$/.exec(name)?.[1] ?? 0));
  const name = `r${Math.max(0, ...numbers) + 1}`;
  const present = await snapshotTree(tree, { leftOut, redactor });
  if (present === null || present.problem() !== null) return null;
  const isMissing = (each: SkippedPath) =>
    names === null ? each.kind === 'refused' : names.some((path) => covers(each, path));
  if (present.leftOut().some(isMissing)) return null;
  const commit = await commitTree(tree, {
    treeId: present.id,
    parent: null,
    message: `spool checkpoint: ${change}, before a rewind`,
  });
  if (commit === null) return null;
  record({ run, name, commit });
  return (await setRef(tree, refOf(change, run, name), commit)) ? { name, run, commit } : null;
};

/** All checkpoints of a change, of one of its runs or of all. */
export const listCheckpoints = async (
  { root }: WorkTree,
  change: string,
  onlyRun: string | null = null,
): Promise<Checkpoint[]> => {
  const prefix = `refs/spool/${refSafe(change)}/`;
  const wanted = onlyRun === null ? prefix : `${prefix}${onlyRun}/`;
  const format = '--format=%(objectname) %(refname) %(symref)';
  const { stdout } = await git(['for-each-ref', format, wanted], { cwd: root });
  return (
    stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(' '))
      // A ref that only points to another one, such as a branch, is none of Spool's.
      .filter(([, , target]) => !target)
      .map(([commit = '', ref = '']) => {
        const [run = '', name = ''] = ref.slice(prefix.length).split('/');
        return { name, run, commit };
      })
  );
};

/** Forgets checkpoints, all or none; git collects what nothing else refers to in its own time. */
export const dropCheckpoints = async (
  { root }: WorkTree,
  change: string,
  checkpoints: readonly Checkpoint[],
): Promise<boolean> => {
  const input = checkpoints
    .map(({ run, name, commit }) => `option no-deref\ndelete ${refOf(change, run, name)} ${commit}\n`)
    .join('');
  return input === '' || (await git(['update-ref', '--stdin'], { cwd: root, input })).code === 0;
};

export const treeOf = async ({ root }: WorkTree, commit: string): Promise<string | null> => {
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', `${commit}^{tree}`], {
    cwd: root,
    env: noFetch,
  });
  return code === 0 ? stdout.trim() : null;
};

const refOf = (change: string, run: string, name: string) => `refs/spool/${refSafe(change)}/${run}/${name}`;

/** A folder may be called what a ref may not. */
const refSafe = (change: string) =>
  encodeURIComponent(change).replaceAll(/[~*'()!]|\.(?=\.|$)|^\.|\.lock$/g, (text) =>
    [...text].map((char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`).join(''),
  );

interface NewCommit {
  readonly treeId: string;
  readonly parent: string | null;
  readonly message: string;
}

const commitTree = async ({ root }: WorkTree, { treeId, parent, message }: NewCommit): Promise<string | null> => {
  const parents = parent === null ? [] : ['-p', parent];
  const call = { cwd: root, env: checkpointer };
  const { code, stdout } = await git(['commit-tree', treeId, ...parents, '-m', message], call);
  return code === 0 ? stdout.trim() : null;
};

/** Nobody's work: it must not need, or show, an identity of the user's. */
const checkpointer = {
  GIT_AUTHOR_NAME: 'Spool',
  GIT_AUTHOR_EMAIL: 'spool@localhost',
  GIT_COMMITTER_NAME: 'Spool',
  GIT_COMMITTER_EMAIL: 'spool@localhost',
};

/** Never what the ref points to, when somebody has made it point to another one. */
const setRef = async ({ root }: WorkTree, ref: string, commit: string): Promise<boolean> =>
  (await git(['update-ref', '--no-deref', ref, commit], { cwd: root })).code === 0;
