import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { unsafeKind } from '../../files/checks.ts';
import { readInside, statsIfInside, textInside } from '../../files/inside.ts';
import { maxText } from '../../files/safe.ts';
import { replaceInside } from '../../files/write-inside.ts';
import { readRegular } from '../../files/regular.ts';
import { filesMatching } from '../../git/linked-worktrees.ts';
import { toUtf8 } from '../../git/paths.ts';
import { type Baseline, ignoredSince, outputsIn, takeBaseline } from '../../git/tree-snapshots/ignored-files.ts';
import { gitDirOf } from '../../git/work-tree.ts';
import type { Project } from '../../store/project.ts';
import { isAmong, planningPaths } from '../../changes/planning-paths.ts';
import { attempt } from '../../changes/problems.ts';
import type { Change } from '../../changes/source.ts';
import { mapOf, object, parseJson, type Shape, text, validItems, withFallback } from '../../text/shape.ts';
import { someOf } from '../../text/format.ts';
import { commandLine } from '../../text/shell-words.ts';

/** A worktree, and the folder of the project in it. */
export interface ProvisionedWorkspace {
  readonly worktree: string;
  readonly root: string;
}

/**
 * Returns the path of the file that marks a worktree as set up and lists the ignored files that the setup has created.
 * It is in the git folder of the worktree.
 */
const setupFileOf = async (worktree: string): Promise<SetupFile | null> => {
  const folder = await gitDirOf(worktree);
  if (folder === null) return null;
  const name = ['spool-furnished', 'spool-provisioned'].find((each) => statsIfInside(folder, each)?.isFile());
  return { folder, name: name ?? 'spool-provisioned', exists: name !== undefined };
};

/** Agents can write to the git folder of a worktree. A link there is not followed. */
interface SetupFile {
  readonly folder: string;
  readonly name: string;
  readonly exists: boolean;
}

export const isProvisioned = async (worktree: string): Promise<boolean> =>
  (await setupFileOf(worktree))?.exists ?? false;

/** Called after the setup, before an agent starts. */
export const noteProvisioned = async (
  project: Project,
  workspace: ProvisionedWorkspace,
  hasSetup: boolean,
): Promise<void> => {
  const file = await setupFileOf(workspace.worktree);
  if (file === null) return;
  const include = includePatterns(project);
  const isBare = !hasSetup && include === null;
  const names = include === null ? [] : (await filesMatching(project.root, include)).map(toUtf8);
  const prefix = relative(workspace.worktree, workspace.root);
  const included = new Set(names.map((name) => join(prefix, name)));
  const baseline = isBare ? emptyBaseline : await takeBaseline(workspace.worktree, (path) => included.has(path));
  replaceInside(file.folder, file.name, JSON.stringify(baseline));
};

/** Returns the ignored files that would be lost with a worktree. For a new folder, only its name. */
export const filesLostWith = async (
  project: Project,
  change: Change,
  workspace: ProvisionedWorkspace,
): Promise<string[]> => {
  const file = await setupFileOf(workspace.worktree);
  const plans = planningPaths(project, change);
  const isKept = isPlannedCopy(project, workspace, plans);
  return ignoredSince(workspace.worktree, file === null ? emptyBaseline : baselineIn(file), isKept);
};

/**
 * Returns a line for each kind of file that is deleted with the worktree without being checked. Called before it is
 * removed.
 */
export const deletionNotices = async (worktree: string): Promise<string[]> => {
  const file = await setupFileOf(worktree);
  const outputs = await outputsIn(worktree);
  const large = file === null ? [] : baselineIn(file).folders.filter((folder) => existsSync(join(worktree, folder)));
  const line = (what: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`Deleted with the worktree, ${what}: ${someOf(names)}.`];
  return [
    ...line('as build output', outputs),
    ...line('created by its setup and too large to look for changes in', large),
  ];
};

/** Returns whether a path of the worktree is part of the copied plans, or identical to the file in the project. */
export const isPlannedCopy =
  (project: Project, { worktree, root }: ProvisionedWorkspace, plans: readonly string[]) =>
  (path: string): boolean => {
    const name = relative(root, join(worktree, path));
    return isAmong(plans, name) || isSame([project.root, name], [worktree, path]);
  };

export const keptNotice = (results: readonly string[], where: string): string =>
  `Kept ${where}: it has ignored files: ${someOf(results)}. To remove it anyway: ${commandLine('git', 'worktree', 'remove', '--force', where)}`;

/** Returns the patterns in .worktreeinclude; null if there is none. */
export const includePatterns = (project: Project): Buffer | null => {
  const file = join(project.root, '.worktreeinclude');
  if (!existsSync(file)) return null;
  const patterns = readRegular(file, { limit: maxText });
  if (patterns === null) throw unsafeKind(file, 'file');
  return patterns;
};

/** Whether two files, each of a root and a path, have the same contents. */
const isSame = (...files: readonly (readonly [string, string])[]): boolean => {
  const [one, other] = files.map(([root, path]) => statsIfInside(root, path));
  if (!one?.isFile() || !other?.isFile() || one.size !== other.size) return false;
  const [original, copy] = files.map(([root, path]) => readInside(root, path, Infinity));
  return Boolean(original && copy && original.equals(copy));
};

const emptyBaseline: Baseline = { folders: [], files: {} };

/** The file is empty in a worktree that an older Spool created. */
const baselineIn = ({ folder, name }: SetupFile): Baseline => {
  const written = attempt(() => textInside(folder, name));
  return baseline(parseJson(typeof written === 'string' ? written : '')) ?? emptyBaseline;
};

const baseline: Shape<Baseline> = object<Baseline>({
  folders: withFallback([], validItems(text)),
  files: withFallback({}, mapOf(text)),
});
