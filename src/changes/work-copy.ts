import { existsSync } from 'node:fs';
import { UserError } from '../errors.ts';
import { join } from 'node:path';
import { blobAt, prefixOf, tipOf } from '../git/branches.ts';
import type { RunView } from '../ralph/view.ts';
import { readTasks } from './task-file.ts';
import { bytesOf, keptWork, mergedTasks, tasksFile } from './copies.ts';
import type { Project } from '../store/project.ts';
import { readRun, type SavedRun } from '../store/state.ts';
import { parseTasks, type Task } from './tasks.ts';

/** The tasks of a change as its last run sees them: where it works, with what the person has changed in the project. */
export const currentTasks = async (
  project: Project,
  change: string,
  view: Pick<RunView, 'workspace'> | null,
): Promise<Task[] | null> => {
  const theirs = await tasksOfRun(project, change, view?.workspace ?? null);
  if (theirs === null) return readTasks(project, change);
  const text = await mergedTasks(project, change, theirs);
  return text === null ? null : parseTasks(text);
};

/** From its worktree, or, when that is gone, from its branch; null for a run in the project's own folder. */
const tasksOfRun = async (
  project: Project,
  change: string,
  workspace: RunView['workspace'],
): Promise<Buffer | null> => {
  if (!workspace?.worktree || workspace.branch === null) return null;
  const file = tasksFile(change);
  if (existsSync(join(workspace.worktree, '.git'))) return bytesOf(join(workspace.root, file));
  const tip = await tipOf(project.root, workspace.branch);
  if (tip === null) return null;
  const kept = keptWork(project, change, tip);
  if (kept !== null) return bytesOf(join(kept, file));
  return blobAt(project.root, tip, `${await prefixOf(project.root)}${file}`);
};

/** The tasks of a change where its last run works, together with those of the project. */
export const tasksOf = async (project: Project, id: string): Promise<Task[] | null> =>
  currentTasks(project, id, (await lastSaved(project, id))?.view ?? null);

/** null for a file that may not be read, or is of a newer version: one of them must not hide the other changes. */
export const lastSaved = async (project: Project, id: string): Promise<SavedRun | null> => {
  try {
    return await readRun(project, id);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return null;
  }
};
