import { join, relative } from 'node:path';
import { userError } from '../errors.ts';
import type { RunView } from '../ralph/view.ts';
import { readIfThere, statsOf } from '../files/read.ts';
import { isWorkspaceOf, type Project, ralphFolder } from './project.ts';
import { type LockOwner, lockOwner } from './lock-owner.ts';
import { parseView } from './formats.ts';
import { readableVersions, upgradeView } from './upgrade.ts';
import { parseJson } from '../text/shape.ts';

export { ralphFolder };

export const stateFile = (project: Project, changeId: string) => join(ralphFolder(project, changeId), 'state.json');

/** Where what is kept of one run is. */
export const runFolder = (project: Project, changeId: string, run: string): string =>
  join(ralphFolder(project, changeId), 'runs', run);

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
  if (typeof version === 'number' && !readableVersions.has(version))
    throw userError('bad-state', name, `has version ${version}, which this Spool does not know`);
  const view = parseView(upgradeView(value));
  if (view) return { view: inItsPlace(project, changeId, view), damage: null, isWhole: true };
  const { rebuildRun } = await import('./rebuild.ts');
  return rebuildRun(project, changeId, name);
};

/** Whoever can write state.json could send Spool to any folder. */
const inItsPlace = (project: Project, changeId: string, view: RunView): RunView =>
  view.workspace === null || isWorkspaceOf(project, changeId, view.workspace.root)
    ? view
    : { ...view, workspace: null };

/** Changes whenever state.json is written, also by another process. */
export const stateStamp = (project: Project, changeId: string): string => {
  const stats = statsOf(stateFile(project, changeId));
  return stats === undefined ? 'none' : `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
};

/** The last run of a change; null when there was none. */
export const readState = async (project: Project, changeId: string): Promise<RunView | null> =>
  (await readRun(project, changeId)).view;

/** The run as it was when it was last started; null when nobody knows. */
export const readStart = async (project: Project, changeId: string, run: string): Promise<RunView | null> => {
  const text = await readIfThere(startFile(project, changeId, run)).catch(unreadableIs(null));
  return parseView(upgradeView(parseJson(text ?? ''))) ?? null;
};

export const startFile = (project: Project, changeId: string, run: string) =>
  join(ralphFolder(project, changeId), 'runs', run, 'start.json');

/** A folder in its place is damage like any other; a file that may not be read is not. */
const unreadableIs =
  <Type>(fallback: Type) =>
  (error: unknown): Type => {
    if ((error as NodeJS.ErrnoException).code === 'EISDIR') return fallback;
    throw error;
  };

export const lockFile = (project: Project, changeId: string) => join(ralphFolder(project, changeId), 'lock');

/** The process that runs a loop on this change now; null when none does. */
export const loopOwner = (project: Project, changeId: string): LockOwner | null =>
  lockOwner(lockFile(project, changeId));
