import { asUserError } from '../../errors.ts';
import type { RunView } from '../../ralph/view.ts';
import { readTasks } from './read.ts';
import type { Change } from '../source.ts';
import { changeOf } from '../sources.ts';
import type { Project } from '../../store/project.ts';
import { loadRun, type LoadedRun } from '../../store/state.ts';
import type { Task } from './task.ts';

/** The tasks in the workspace of a run, merged with the user's edits in the project. */
export const currentTasks = async (
  project: Project,
  change: Change,
  view: Pick<RunView, 'workspace'> | null,
): Promise<Task[] | null> => {
  const { worktree = null, branch = null, root = '' } = view?.workspace ?? {};
  if (!worktree || branch === null) return readTasks(change, project.root);
  // Imported only when needed, for a fast start.
  const { tasksInWorktree } = await import('./in-worktree.ts');
  const text = await tasksInWorktree(project, change, { worktree, branch, root });
  if (text === undefined) return readTasks(change, project.root);
  return text === null ? null : change.format.tasks(text);
};

/** The same for a run, which says where its change is from. */
export const tasksOfRun = async (project: Project, view: RunView): Promise<Task[] | null> =>
  currentTasks(project, await changeOf(project, view.change, view.source), view);

/** The tasks in the workspace of the last run, merged with the user's edits in the project. */
export const tasksOf = async (project: Project, change: Change): Promise<Task[] | null> =>
  currentTasks(project, change, (await lastSaved(project, change.id))?.view ?? null);

/** Returns null for a state file that is unreadable or of a newer version, so that a list can still show the other changes. */
export const lastSaved = async (project: Project, id: string): Promise<LoadedRun | null> => {
  try {
    return await loadRun(project, id);
  } catch (error) {
    if (asUserError(error) === null) throw error;
    return null;
  }
};
