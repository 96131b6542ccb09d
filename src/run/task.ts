import { join, relative } from 'node:path';
import { userError } from '../errors.ts';
import { changeFolder, readProposal } from '../changes/changes.ts';
import { moduleOf } from '../changes/ids.ts';
import { readTasks } from '../changes/task-file.ts';
import { readOwn, writeOwn } from '../files/own.ts';
import { readIfThere } from '../files/read.ts';
import { modulesFolder } from '../store/project.ts';
import { moduleFolderName, readModule } from '../changes/modules.ts';
import { countTasks } from '../changes/tasks.ts';
import { isUntouchedProposal } from '../changes/templates.ts';
import type { RunPlan } from '../ralph/events.ts';
import type { RunSpec } from './request.ts';
import type { RunTask, RunContext } from './context.ts';
import { expectedVersion, type RestoreContext } from './restore.ts';

export const readTask = async ({ project, change, prompt }: RunSpec): Promise<RunTask> => {
  const moduleId = moduleOf(change);
  return {
    proposal: await readProposal(project, change),
    module: moduleId === null ? null : await readModule(project, moduleId),
    userPrompt: prompt,
  };
};

/** Saves the user's prompt with the run, and returns the saved one for a run that is resumed without a prompt. */
export const savePrompt = async (folder: string, userPrompt: string): Promise<string> => {
  const file = join(folder, 'user-prompt.md');
  if (userPrompt.trim() === '') return (await readIfThere(file)) ?? '';
  writeOwn(file, userPrompt);
  return userPrompt;
};

/** What no agent could do anything with is an error before one is started. A run that is resumed was looked at before. */
export const checkTask = async (
  { project, change }: RunSpec,
  { proposal, userPrompt }: RunTask,
  { gate }: RunPlan,
): Promise<void> => {
  const folder = relative(project.root, changeFolder(project, change));
  if (userPrompt.trim() === '' && isUntouchedProposal(proposal))
    throw userError('empty-proposal', change, join(folder, 'proposal.md'), change.replace(/^(\d{3}-\d\d)_.*/, '$1'));
  if (!gate.requireTasks) return;
  const tasks = await readTasks(project, change);
  if (tasks === null) throw userError('no-tasks', join(folder, 'tasks.md'), 'not found');
  if (countTasks(tasks).total === 0) throw userError('no-tasks', join(folder, 'tasks.md'), 'has no tasks');
};

/**
 * Reads the proposal and the module again for every iteration, so that what a person changes reaches the next one.
 * What may be the doing of an agent does not: until it is accepted, they are given as they should be.
 */
export const createTaskReader = (
  context: RestoreContext & Pick<RunContext, 'project' | 'task' | 'workspace'>,
): (() => Promise<RunTask>) => {
  const { project, plan, task, guard, workspace } = context;
  const good = new Map<string, string>();
  const readGuarded = async (file: string): Promise<string | null> => {
    const key = relative(project.root, file);
    const bytes = readIfPossible(file);
    const text = bytes?.toString('utf8') ?? null;
    if (workspace.worktree !== null || plan.gate.allowTampering || guard.isExpected(key, bytes)) {
      if (text !== null) good.set(key, text);
      return text;
    }
    const kept = good.get(key) ?? (await expectedVersion(context, { kind: 'changed', key }))?.bytes.toString('utf8');
    if (kept !== undefined) good.set(key, kept);
    return kept ?? text;
  };
  return async () => {
    const name = plan.module === null ? null : await moduleFolderName(project, plan.module);
    const proposal = await readGuarded(join(changeFolder(project, plan.change), 'proposal.md'));
    const module = name === null ? null : await readGuarded(join(modulesFolder(project), name, 'module.md'));
    return { ...task, proposal: proposal ?? task.proposal, module };
  };
};

/** null as well for what cannot be read. */
const readIfPossible = (file: string): Buffer | null => {
  try {
    return readOwn(file);
  } catch {
    return null;
  }
};
