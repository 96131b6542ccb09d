import { relative } from 'node:path';
import { userError } from '../errors.ts';
import type { RunView } from '../ralph/view.ts';
import { readText, statsOf } from '../files/read.ts';
import { stampOf } from '../files/stamp.ts';
import { type Project } from './project.ts';
import { handoverFile, isWorkspaceOf, stateFile, lockFile, queueFile, startFile } from './paths.ts';
import { type LockOwner, lockOwner } from './lock-owner.ts';
import { parseView } from './formats.ts';
import { readableVersions, upgradeView } from './upgrade.ts';
import { parseJson } from '../text/shape.ts';

/** The last run of a change, as far as it is known. */
export interface LoadedRun {
  /** null if there was none. */
  readonly view: RunView | null;
  /** One line that says that state.json is damaged and the view was rebuilt; null if it is intact. */
  readonly damage: string | null;
  /** Whether its settings are known. Otherwise it can be shown, but not resumed. */
  readonly hasSettings: boolean;
}

/** Rebuilds a damaged state.json from the history, in memory. Rejects if it has a newer version. */
export const loadRun = async (project: Project, changeId: string): Promise<LoadedRun> => {
  const file = stateFile(project, changeId);
  const text = readUnlessFolder(file, '');
  if (text === null) return { view: null, damage: null, hasSettings: true };
  const value = parseJson(text);
  const name = relative(project.root, file);
  const version = (value as { v?: unknown } | null | undefined)?.v;
  if (typeof version === 'number' && !readableVersions.has(version))
    throw userError('bad-state', name, `has version ${version}, which this Spool does not know`);
  const view = parseView(upgradeView(value));
  if (view) return { view: inOwnWorkspace(project, changeId, view), damage: null, hasSettings: true };
  const { rebuildRun } = await import('./rebuild.ts');
  return rebuildRun(project, changeId, name);
};

/** Ignores a workspace outside of the project: a forged file could lead Spool to any folder. */
export const inOwnWorkspace = (project: Project, changeId: string, view: RunView): RunView =>
  view.workspace === null || isWorkspaceOf(project, changeId, view.workspace.root)
    ? view
    : { ...view, workspace: null };

/** Changes whenever state.json is written, including by another process. */
export const stateStamp = (project: Project, changeId: string): string =>
  stampOf(statsOf(stateFile(project, changeId)));

/** Returns the last run of a change; null if there was none. */
export const readState = async (project: Project, changeId: string): Promise<RunView | null> =>
  (await loadRun(project, changeId)).view;

/** Returns the run as it was last started; null if it is not known. */
export const readStart = (project: Project, changeId: string, run: string): RunView | null => {
  const text = readUnlessFolder(startFile(project, changeId, run), null);
  return parseView(upgradeView(parseJson(text ?? ''))) ?? null;
};

/** A folder in place of the file counts as damage; a file that cannot be read is an error. */
const readUnlessFolder = (file: string, fallback: string | null): string | null => {
  try {
    return readText(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EISDIR') return fallback;
    throw error;
  }
};

/** Whether iterations of the change have left notes, without looking at them. */
export const hasHandover = (project: Project, changeId: string): boolean =>
  statsOf(handoverFile(project, changeId)) !== undefined;

/** Returns the process that runs this change now; null if there is none. */
export const loopOwner = (project: Project, changeId: string): LockOwner | null =>
  lockOwner(lockFile(project, changeId));

/**
 * Returns the process of the batch that has not started this change yet; null if it is in no queue. Nothing depends on the
 * file, so something else in its place counts as none.
 */
export const queuedBy = (project: Project, changeId: string): LockOwner | null => {
  try {
    return lockOwner(queueFile(project, changeId));
  } catch {
    return null;
  }
};
