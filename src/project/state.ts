import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { atPath, userError } from '../errors.ts';
import { processStart } from '../processes.ts';
import type { RunView } from '../ralph/view.ts';
import { readIfThere } from './files.ts';
import { type Project, ralphFolder, stateFolder } from './find.ts';
import { acquireLock, hostName, type LockOwner, lockOwner } from './lock.ts';
import { viewIn } from './saved.ts';
import { parseJson } from './shape.ts';

export { ralphFolder };

const stateFile = (project: Project, changeId: string) => join(ralphFolder(project, changeId), 'state.json');

/** Makes the folder, readable by its owner only, and hides all of the state from git. */
export const makeRalphFolder = (project: Project, changeId: string): void => {
  hideStateFromGit(project);
  mkdirSync(ralphFolder(project, changeId), { recursive: true, mode: 0o700 });
};

/** Says whether the file had to be made. */
export const hideStateFromGit = (project: Project): boolean => {
  const spool = dirname(stateFolder(project));
  mkdirSync(spool, { recursive: true });
  // Asked, because Node calls a read-only file system "no such file" when it makes more than one folder.
  accessSync(spool, constants.W_OK);
  mkdirSync(stateFolder(project), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(join(stateFolder(project), '.gitignore'), '*\n', { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

export const hideWorktreesFromGit = (project: Project): void => {
  const folder = join(project.root, '.spool', 'worktrees');
  mkdirSync(folder, { recursive: true });
  const ignore = join(folder, '.gitignore');
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n');
};

/** Where what is kept of one run is. */
export const runFolder = (project: Project, changeId: string, run: string): string =>
  join(ralphFolder(project, changeId), 'runs', run);

/** What the trees of a run do not have. */
export const leftOutFile = (folder: string): string => join(folder, 'left-out.json');

/** What was ignored before its agents worked. */
export const ignoredFile = (folder: string): string => join(folder, 'ignored.json');

/** Makes the folder of one run, for the prompts and the logs of its iterations. */
export const makeRunFolder = (project: Project, changeId: string, run: string): string => {
  const folder = runFolder(project, changeId, run);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
};

/** The path of a file of our own for a while. Those that processes have left that were killed are removed. */
export const newScratch = (folder: string): string => {
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const pid = /^scratch\.(\d+)\./.exec(name)?.[1];
    if (pid !== undefined && processStart(Number(pid)) === null) rmSync(join(folder, name), { force: true });
  }
  return join(folder, `scratch.${process.pid}.${crypto.randomUUID()}`);
};

/** What is known of the last run of a change. */
export interface SavedRun {
  /** null when there was none. */
  readonly view: RunView | null;
  /** It was rebuilt, as state.json is damaged: one line that says so. */
  readonly damage: string | null;
  /** What it was asked for is known; otherwise it can be shown but not be resumed. */
  readonly isWhole: boolean;
}

/** A damaged state.json is made up for from the history, in memory. One of a newer version is an error. */
export const readRun = async (project: Project, changeId: string): Promise<SavedRun> => {
  const file = stateFile(project, changeId);
  const text = await readIfThere(file).catch(unreadableIs(''));
  if (text === null) return { view: null, damage: null, isWhole: true };
  const value = parseJson(text);
  const name = relative(project.root, file);
  const version = (value as { v?: unknown } | null | undefined)?.v;
  if (typeof version === 'number' && version !== 1)
    throw userError('bad-state', name, `has version ${version}, which this Spool does not know`);
  const view = viewIn(value);
  if (view) return { view, damage: null, isWhole: true };
  const { rebuildRun } = await import('./rebuild.ts');
  return rebuildRun(project, changeId, name);
};

/** The last run of a change; null when there was none. */
export const readState = async (project: Project, changeId: string): Promise<RunView | null> =>
  (await readRun(project, changeId)).view;

/** Keeps a damaged state.json under another name, which it answers with, and puts what is known in its place. */
export const replaceState = (project: Project, changeId: string, view: RunView | null): string => {
  const file = stateFile(project, changeId);
  let number = 1;
  while (existsSync(`${file}.damaged-${number}`)) number++;
  const aside = `${file}.damaged-${number}`;
  if (view === null || statSync(file).isDirectory()) renameSync(file, aside);
  else linkSync(file, aside);
  if (view) writeState(project, view);
  return basename(aside);
};

/** Replaces the file as a whole: a reader, or a crash, sees the old or the new one. */
export const writeState = (project: Project, view: RunView): void => replace(stateFile(project, view.change), view);

/** Keeps with a run what it was asked for and where it works, so that state.json can be rebuilt. */
export const writeStart = (project: Project, view: RunView): void =>
  replace(startFile(project, view.change, view.run), view);

/** The run as it was when it was last started; null when nobody knows. */
export const readStart = async (project: Project, changeId: string, run: string): Promise<RunView | null> => {
  const text = await readIfThere(startFile(project, changeId, run)).catch(unreadableIs(null));
  return viewIn(parseJson(text ?? '')) ?? null;
};

const startFile = (project: Project, changeId: string, run: string) =>
  join(ralphFolder(project, changeId), 'runs', run, 'start.json');

const replace = (file: string, view: RunView): void => {
  const draft = `${file}.${process.pid}`;
  const descriptor = openSync(draft, 'w', 0o600);
  try {
    writeFileSync(descriptor, `${JSON.stringify(view, null, 2)}\n`);
    fsyncSync(descriptor);
  } catch (error) {
    atPath(file)(error);
  } finally {
    closeSync(descriptor);
  }
  renameSync(draft, file);
};

/** A folder in its place is damage like any other; a file that may not be read is not. */
const unreadableIs =
  <Type>(fallback: Type) =>
  (error: unknown): Type => {
    if ((error as NodeJS.ErrnoException).code === 'EISDIR') return fallback;
    throw error;
  };

const lockFile = (project: Project, changeId: string) => join(ralphFolder(project, changeId), 'lock');

/** The process that runs a loop on this change now; null when none does. */
export const loopOwner = (project: Project, changeId: string): LockOwner | null =>
  lockOwner(lockFile(project, changeId));

export interface ChangeLock {
  /** The change whose loop held the work tree and is dead; null when nobody did. */
  readonly replaced: string | null;
  /** Makes the folders and the lock again if they were deleted; says whether they were. */
  keep(): boolean;
  release(): void;
}

/** How often a lock shows that its owner lives. */
const beatMs = 30_000;

export interface LockOptions {
  /** Where the lock of the work tree is kept: in the folder that git has for it; null for a loop in a worktree of its own. */
  readonly treeFolder: string | null;
}

/** Takes the change, and the work tree, for one loop. */
export const lockChange = (project: Project, changeId: string, { treeFolder }: LockOptions): ChangeLock => {
  const owner = loopOwner(project, changeId);
  if (owner) throw lockedBy(changeId, owner);
  makeRalphFolder(project, changeId);
  const change = acquireLock(lockFile(project, changeId), changeId);
  if (change.kind === 'taken') throw lockedBy(changeId, change.by);
  const tree = treeFolder === null ? null : acquireLock(treeLock(treeFolder), changeId);
  if (tree?.kind === 'taken') {
    change.release();
    throw treeLockedBy(tree.by, treeFolder!);
  }
  const beat = setInterval(() => [change, tree].forEach((lock) => lock?.beat()), beatMs).unref();
  return {
    replaced: tree?.replaced?.purpose ?? null,
    keep: () => {
      const deleted = !existsSync(ralphFolder(project, changeId));
      if (deleted) makeRalphFolder(project, changeId);
      // An agent may have deleted the repository, with its folder.
      const isThere = treeFolder !== null && existsSync(treeFolder);
      const other = change.keep() ?? (isThere ? tree?.keep() : null);
      if (other) throw lockedBy(changeId, other);
      return deleted;
    },
    release: () => {
      clearInterval(beat);
      tree?.release();
      change.release();
    },
  };
};

/** Takes a work tree alone, for a moment in which no loop may work in it; answers with what lets it go. */
export const lockTree = (treeFolder: string, purpose: string): (() => void) => {
  const tree = acquireLock(treeLock(treeFolder), purpose);
  if (tree.kind === 'taken') throw treeLockedBy(tree.by, treeFolder);
  return () => tree.release();
};

const treeLock = (treeFolder: string) => join(treeFolder, 'spool.lock');

const treeLockedBy = (owner: LockOwner, treeFolder: string) =>
  userError('tree-locked', owner.purpose, ownerText(owner, treeLock(treeFolder)));

const lockedBy = (changeId: string, owner: LockOwner) =>
  userError('locked', changeId, ownerText(owner, `.spool/.state/ralph/${changeId}/lock`));

const ownerText = ({ pid, host, since }: LockOwner, file: string): string => {
  const hint = host === hostName() ? '' : `; if that machine is gone, delete ${file}`;
  const began = since === '' ? '' : ` since ${since}`;
  return `process ${pid} on ${host.replace(/ \(.*\)$/, '')}${began}${hint}`;
};
