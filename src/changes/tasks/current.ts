import { existsSync } from 'node:fs';
import { UserError } from '../../errors.ts';
import { join } from 'node:path';
import { blobAt, prefixOf, tipOf } from '../../git/branches.ts';
import type { RunView } from '../../ralph/view.ts';
import { readTasks } from './read.ts';
import { bytesOf, mergedTasks, savedCopy } from '../copies.ts';
import type { Change } from '../source.ts';
import { changeOf } from '../sources.ts';
import type { Project } from '../../store/project.ts';
import { readRun, type SavedRun } from '../../store/state.ts';
import type { Task } from './task.ts';

/** The tasks in the workspace of a run, merged with the user's edits in the project. */
export const currentTasks = async (
  project: Project,
  change: Change,
  view: Pick<RunView, 'workspace'> | null,
): Promise<Task[] | null> => {
  const theirs = await tasksInWorkspace(project, change, view?.workspace ?? null);
  if (theirs === null) return readTasks(change, project.root);
  const text = await mergedTasks(project, change, theirs);
  return text === null ? null : change.format.tasks(text);
};

/** The same for a run, which says where its change is from. */
export const tasksOfRun = async (project: Project, view: RunView): Promise<Task[] | null> =>
  currentTasks(project, await changeOf(project, view.change, view.source), view);

/** Reads the worktree or, if it was removed, the branch. Returns null for a run in the project folder. */
const tasksInWorkspace = async (
  project: Project,
  { id, tasksFile: file }: Change,
  workspace: RunView['workspace'],
): Promise<Buffer | null> => {
  if (!workspace?.worktree || workspace.branch === null) return null;
  if (existsSync(join(workspace.worktree, '.git'))) return bytesOf(workspace.root, file);
  const tip = await tipOf(project.root, workspace.branch);
  if (tip === null) return null;
  const saved = savedCopy(project, id, tip);
  if (saved !== null) return bytesOf(saved, file);
  return blobAt(project.root, tip, `${await prefixOf(project.root)}${file}`);
};

/** The tasks in the workspace of the last run, merged with the user's edits in the project. */
export const tasksOf = async (project: Project, change: Change): Promise<Task[] | null> =>
  currentTasks(project, change, (await lastSaved(project, change.id))?.view ?? null);

/** Returns null for a state file that is unreadable or of a newer version, so that a list can still show the other changes. */
export const lastSaved = async (project: Project, id: string): Promise<SavedRun | null> => {
  try {
    return await readRun(project, id);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return null;
  }
};
