import type { Redactor } from '../secrets/redact.ts';
import { git } from './call/git.ts';
import { noFetch } from './call/inert.ts';
import { type CommitStore, inStore } from './commit-store.ts';
import { covers, type SkippedPath } from './tree-snapshots/skipped.ts';
import { snapshotTree } from './tree-snapshots/snapshotter.ts';
import type { WorkTree } from './work-tree.ts';

/** A snapshot of a work tree, as a commit that is on no branch. */
export interface Checkpoint {
  /**
   * `0` is before the first iteration, `7` after the seventh, `before-7` has the changes of the user before the
   * seventh, `r1` is before the first rewind. Only recorded: `gate-6`, with what the gate of the sixth has changed.
   */
  readonly name: string;
  readonly run: string;
  readonly commit: string;
}

export interface Checkpoints {
  /** The tree of the newest checkpoint; null if there is none yet. */
  lastTree(): string | null;
  /** The newest checkpoint, if that is its tree; null otherwise. */
  newestWith(treeId: string): Pick<Checkpoint, 'name' | 'commit'> | null;
  /** The newest checkpoint when they were opened. It was taken before `atMs`. */
  readonly found: { readonly treeId: string; readonly atMs: number } | null;
  /**
   * Pairs of commits or trees that together span the iterations of the run, without what others changed in between. null
   * if there is no checkpoint yet, or if git fails.
   */
  ranges(): Promise<readonly DiffRange[] | null>;
  /**
   * Saves the work tree before an iteration; as checkpoint 0 if it is the first one. `isGates`: only the gate of the last
   * iteration has changed it.
   */
  before(iteration: number, treeId: string, isGates?: boolean): Promise<void>;
  /** Returns the commit; null if git fails. */
  after(iteration: number, treeId: string): Promise<string | null>;
}

/** Two commits or trees. */
type DiffRange = readonly [from: string, to: string];

export interface CheckpointRun {
  readonly change: string;
  readonly run: string;
  /** The last recorded iteration. Later checkpoints belong to an interrupted iteration, which is repeated. */
  readonly finishedIterations: number;
  /** Whether the run may already have checkpoints. A new run has none, because its id cannot be known in advance. */
  readonly isResumed: boolean;
  /** Called with each checkpoint before its ref exists. */
  readonly record: (checkpoint: Checkpoint) => void;
}

/**
 * Opens the checkpoints of one run. The parent of each is the previous one. Changes of the user in between are a
 * separate commit, so that the difference to the parent is what the iteration did. An iteration without changes shares
 * the commit of the previous one.
 */
export const openCheckpoints = async (
  tree: WorkTree,
  { change, run, finishedIterations, isResumed, record }: CheckpointRun,
): Promise<Checkpoints> => {
  const known = isResumed ? await listCheckpoints(tree, change, run) : [];
  const numbered = known.filter(({ name }) => /^\d+$/.test(name) && Number(name) <= finishedIterations);
  const newest = numbered.toSorted((a, b) => Number(b.name) - Number(a.name))[0];
  let start = known.find(({ name }) => name === '0')?.commit ?? null;
  /** Or its commit, if that is all that is known. */
  let startTree = start;
  let last = newest?.commit ?? null;
  let lastName = newest?.name ?? '';
  const found = last === null ? null : await readCheckpoint(tree, last);
  let lastTree = found?.treeId ?? null;
  /** The newest checkpoint belongs to an iteration, so the next iteration may share it. */
  let named = true;
  let othersChangedFiles = known.some(({ name }) => name.startsWith('before-'));

  const add = async (treeId: string, what: string): Promise<string | null> => {
    const message = `spool checkpoint: ${change}, ${what}`;
    // If the parent is gone with its repository, a new chain starts.
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
    newestWith: (treeId) => (last !== null && treeId === lastTree ? { name: lastName, commit: last } : null),
    ranges: async () => {
      if (start === null || last === null) return null;
      if (start === last) return [];
      return othersChangedFiles ? rangesOfIterations(tree, [start, last]) : [[startTree ?? start, lastTree ?? last]];
    },
    async before(iteration, treeId, isGates = false) {
      if (last !== null && treeId === lastTree) return;
      const first = last === null;
      const commit = await add(treeId, first ? 'before the first iteration' : beforeText(iteration));
      if (commit === null) return;
      named = first;
      if (first) [start, startTree] = [commit, treeId];
      else othersChangedFiles = true;
      const name = first ? '0' : `before-${iteration}`;
      lastName = name;
      if (isGates) record({ run, name: `gate-${iteration - 1}`, commit });
      record({ run, name, commit });
      await setRef(tree, refOf(change, run, name), commit);
    },
    async after(iteration, treeId) {
      const same = named && treeId === lastTree;
      const commit = same ? last : await add(treeId, `iteration ${iteration}`);
      if (commit === null) return null;
      named = true;
      const name = String(iteration);
      lastName = name;
      record({ run, name, commit });
      return (await setRef(tree, refOf(change, run, name), commit)) ? commit : null;
    },
  };
};

const beforeText = (iteration: number): string => `before iteration ${iteration}`;

const isBefore = (subject: string): boolean => /, before iteration \d+$/.test(subject);

/** Starts a new range at each checkpoint of what others changed. */
const rangesOfIterations = async ({ root }: WorkTree, [start, last]: DiffRange): Promise<DiffRange[] | null> => {
  const { code, stdout } = await git(['log', '--first-parent', '--reverse', '--format=%H %s', `${start}..${last}`], {
    cwd: root,
    env: noFetch,
  });
  if (code !== 0) return null;
  const ranges: DiffRange[] = [[start, start]];
  for (const line of stdout.split('\n').filter(Boolean)) {
    const [commit = ''] = line.split(' ', 1);
    if (isBefore(line)) ranges.push([commit, commit]);
    else ranges.push([ranges.pop()![0], commit]);
  }
  return ranges;
};

const readCheckpoint = async ({ root }: WorkTree, commit: string) => {
  const { stdout } = await git(['cat-file', 'commit', commit], { cwd: root, env: noFetch });
  const [header = ''] = stdout.split('\n\n', 1);
  const treeId = /^tree (\w+)\n/.exec(header)?.[1];
  const seconds = /^committer .* (\d+) [-+]\d+$/m.exec(header)?.[1];
  // git stores whole seconds.
  return treeId === undefined || seconds === undefined ? null : { treeId, atMs: (Number(seconds) + 1) * 1000 };
};

export interface BackupRequest {
  readonly change: string;
  readonly run: string;
  /** Paths that are skipped. */
  readonly skipped?: readonly SkippedPath[];
  /** Detects files that look like secrets, which are skipped. */
  readonly redactor: Redactor;
  /** Called with the checkpoint before its ref exists. */
  readonly record: (checkpoint: Checkpoint) => void;
  /** Files that it must contain; null for all files that git can add. */
  readonly names?: readonly string[] | null;
}

/** Saves the work tree as the next `r1`, `r2`, … of a run. Returns null if that fails or a required file is missing. */
export const createBackup = async (
  tree: WorkTree,
  { change, run, record, redactor, skipped = [], names = null }: BackupRequest,
): Promise<Checkpoint | null> => {
  const taken = await listCheckpoints(tree, change, run);
  const numbers = taken.map(({ name }) => Number(/^r(\d+)$/.exec(name)?.[1] ?? 0));
  const name = `r${Math.max(0, ...numbers) + 1}`;
  const present = await snapshotTree(tree, { skipped, redactor });
  if (present === null || present.problem() !== null) return null;
  const isMissing = (each: SkippedPath) =>
    names === null ? each.kind === 'refused' : names.some((path) => covers(each, path));
  if (present.skipped().some(isMissing)) return null;
  const commit = await commitTree(tree, {
    treeId: present.id,
    parent: null,
    message: `spool checkpoint: ${change}, before a rewind`,
  });
  if (commit === null) return null;
  record({ run, name, commit });
  return (await setRef(tree, refOf(change, run, name), commit)) ? { name, run, commit } : null;
};

/** Where the files of an unfinished iteration are. Not a checkpoint: it is replaced while the iteration runs. */
export const workRef = (change: string): string => `refs/spool-work/${refSafe(change)}`;

export interface UnfinishedWork {
  readonly change: string;
  readonly treeId: string;
  /** The commit that is checked out; null if there is none. */
  readonly head: string | null;
}

/** Saves the files in the middle of an iteration. Returns the commit; null if git fails. */
export const saveWork = async (tree: WorkTree, { change, treeId, head }: UnfinishedWork): Promise<string | null> => {
  const commit = await commitTree(tree, { treeId, parent: head, message: `spool: ${change}, unfinished` });
  return commit !== null && (await setRef(tree, workRef(change), commit)) ? commit : null;
};

/** Returns the commit that was checked out when `saveWork` saved the files; null if git fails. */
export const headOfWork = async ({ root }: WorkTree, commit: string): Promise<string | null> => {
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', `${commit}^`], { cwd: root, env: noFetch });
  return code === 0 ? stdout.trim() : null;
};

/** Lists the checkpoints of a change, of one run or of all. */
export const listCheckpoints = async (
  { root }: Pick<WorkTree, 'root'>,
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
      // A symbolic ref, for example to a branch, does not come from Spool.
      .filter(([, , target]) => !target)
      .map(([commit = '', ref = '']) => {
        const [run = '', name = ''] = ref.slice(prefix.length).split('/');
        return { name, run, commit };
      })
  );
};

/** Deletes the refs of checkpoints, all or none. git collects unreferenced objects later. */
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

export const treeOf = async (store: CommitStore, commit: string): Promise<string | null> => {
  const { cwd, env } = inStore(store);
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', `${commit}^{tree}`], {
    cwd,
    env: { ...env, ...noFetch },
  });
  return code === 0 ? stdout.trim() : null;
};

const refOf = (change: string, run: string, name: string) => `refs/spool/${refSafe(change)}/${run}/${name}`;

/** Encodes a name, because not every name of a folder is valid in a ref. */
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
  const call = { cwd: root, env: spoolIdentity };
  const { code, stdout } = await git(['commit-tree', treeId, ...parents, '-m', message], call);
  return code === 0 ? stdout.trim() : null;
};

/** Checkpoints neither need nor show the identity of the user. */
const spoolIdentity = {
  GIT_AUTHOR_NAME: 'Spool',
  GIT_AUTHOR_EMAIL: 'spool@localhost',
  GIT_COMMITTER_NAME: 'Spool',
  GIT_COMMITTER_EMAIL: 'spool@localhost',
};

/** Never writes through a symbolic ref. */
const setRef = async ({ root }: WorkTree, ref: string, commit: string): Promise<boolean> =>
  (await git(['update-ref', '--no-deref', ref, commit], { cwd: root })).code === 0;

/** Writes the refs of checkpoints that another machine has taken. Returns the reason if it fails. */
export const checkpointRefs = async (
  cwd: string,
  change: string,
  checkpoints: readonly Checkpoint[],
): Promise<string | null> => {
  const input = checkpoints.map(({ run, name, commit }) => `update ${refOf(change, run, name)} ${commit}\n`).join('');
  if (input === '') return null;
  const { code, stderr } = await git(['update-ref', '--stdin'], { cwd, input });
  return code === 0 ? null : stderr;
};

/** The refs of all checkpoints of a change, for `git fetch`. */
export const checkpointPattern = (change: string): string => `refs/spool/${refSafe(change)}/*`;
