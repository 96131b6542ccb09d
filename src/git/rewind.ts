import { chmodSync, existsSync, rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Difference, changesBetween } from './changes.ts';
import { fileAt, git, pathOf, readable, statsOf } from './git.ts';
import { takeTree, type WorkTree } from './worktree.ts';

/** What a rewind would do: differences from the present to the target, moved files as deleted and added. */
export const planRewind = (tree: WorkTree, present: string, target: string): Promise<Difference[] | null> =>
  changesBetween(tree, [present, target], { renames: false });

/** What a rewind would overwrite although no checkpoint holds it: ignored files, and repositories inside this one. */
export const inTheWay = ({ root }: WorkTree, plan: readonly Difference[]): string[] => {
  const deleted = new Set(plan.filter(({ status }) => status === 'deleted').map(({ name }) => name));
  const blockerOf = ({ name, status, nested }: Difference): string | null => {
    if (nested) return null;
    const file = status === 'added' ? fileAt(root, name) : null;
    if (file !== null && !deleted.has(file)) return file;
    return isInsideNested(root, name) ? name : null;
  };
  return [...new Set(plan.map(blockerOf).filter((name) => name !== null))].map(readable);
};

const isInsideNested = (root: string, name: string): boolean => {
  for (let folder = dirname(name); folder !== '.'; folder = dirname(folder))
    if (existsSync(pathOf(root, `${folder}/.git`))) return true;
  return false;
};

/**
 * Puts the work tree back to a tree. Branch and index stay as they are, and so do ignored files and repositories
 * inside the repository. Answers with the names that could not be put back.
 */
export const rewind = async (tree: WorkTree, target: string, plan: readonly Difference[]): Promise<string[]> => {
  const own = plan.filter(({ nested }) => !nested);
  for (const { name } of own.filter(({ status }) => status === 'deleted')) removeFile(tree.root, name);
  // A folder that is still there holds what no checkpoint holds.
  const isFolder = (name: string) => statsOf(tree.root, name)?.isDirectory() ?? false;
  const wanted = own.filter(({ status, name }) => status !== 'deleted' && !isFolder(name)).map(({ name }) => name);
  const closed = wanted.filter((name) => isClosed(tree.root, name));
  if (wanted.length > 0) await checkOut(tree, target, wanted);
  for (const name of closed) closeFile(tree.root, name);
  const reached = await takeTree(tree);
  if (reached === null || reached === target) return [];
  const rest = await changesBetween(tree, [reached, target], { renames: false });
  // Outside of a sparse checkout, git takes a file that is not there for one that is as it was.
  const isGone = ({ name, status }: Difference) => status === 'deleted' && statsOf(tree.root, name) === undefined;
  return (rest ?? []).filter((each) => !each.nested && !isGone(each)).map(({ name }) => readable(name));
};

/** Only its owner may read it, which git does not know. */
const isClosed = (root: string, name: string): boolean => {
  const stats = statsOf(root, name);
  return stats !== undefined && stats.isFile() && (stats.mode & 0o077) === 0;
};

const closeFile = (root: string, name: string): void => {
  const stats = statsOf(root, name);
  if (stats?.isFile()) chmodSync(pathOf(root, name), stats.mode & 0o700);
};

/** The file, and the folders that it leaves empty. Names are bytes. What cannot be removed is found in the end. */
const removeFile = (root: string, name: string): void => {
  try {
    rmSync(pathOf(root, name), { force: true });
  } catch {
    return;
  }
  for (let folder = dirname(name); folder !== '.'; folder = dirname(folder)) {
    try {
      rmdirSync(pathOf(root, folder));
    } catch {
      return;
    }
  }
};

const checkOut = async ({ root, scratch }: WorkTree, target: string, names: readonly string[]): Promise<void> => {
  const call = { cwd: root, env: { GIT_INDEX_FILE: scratch } };
  await git(['read-tree', target], call);
  await git(['checkout-index', '--force', '-z', '--stdin'], { ...call, input: names.join('\0') });
  rmSync(scratch, { force: true });
};
