import { basename, join } from 'node:path';
import { userError } from '../errors.ts';
import { changeOf } from '../changes/sources.ts';
import type { Change, DocumentKind } from '../changes/source.ts';
import { readTasks } from '../changes/task-file.ts';
import { readSafely, writeSafely } from '../files/safe.ts';
import { readText } from '../files/read.ts';
import { countTasks } from '../changes/tasks.ts';
import type { RunPlan } from '../ralph/plan.ts';
import type { PromptOptions } from '../ralph/prompt.ts';
import type { Assignment, RunContext } from './context.ts';
import type { RunSpec } from './spec.ts';
import { expectedVersion, type RestoreContext } from './restore-instructions.ts';
import { userPromptFile } from '../store/paths.ts';

export const readAssignment = ({ project, change: id, prompt, newChange }: RunSpec): Assignment => {
  const change = changeOf(project, id);
  const proposal = newChange?.proposal ?? readText(join(project.root, change.proposalFile));
  if (proposal === null) throw userError('no-proposal', id, change.proposalFile);
  const module = pathOf(change, 'module', project.root);
  return {
    proposal,
    module: module === null ? null : readText(join(project.root, module)),
    userPrompt: prompt,
  };
};

/** Saves the user's prompt with the run, and returns the saved one for a run that is resumed without a prompt. */
export const savePrompt = (folder: string, userPrompt: string): string => {
  const file = userPromptFile(folder);
  if (userPrompt.trim() === '') return readText(file) ?? '';
  writeSafely(file, userPrompt);
  return userPrompt;
};

/** Throws if an agent would have nothing to do. Only for a new run: a resumed one was checked when it was started. */
export const checkAssignment = (
  { project, change: id, newChange }: RunSpec,
  { proposal, userPrompt }: Assignment,
  { gate }: RunPlan,
): void => {
  if (newChange) return;
  const change = changeOf(project, id);
  if (userPrompt.trim() === '' && change.isTemplate(proposal))
    throw userError('empty-proposal', id, change.proposalFile, id.replace(/^(\d{3}-\d\d)_.*/, '$1'));
  if (!gate.requireTasks) return;
  const tasks = readTasks(change, project.root);
  if (tasks === null) throw userError('no-tasks', change.tasksFile, 'not found');
  if (countTasks(tasks).total === 0) throw userError('no-tasks', change.tasksFile, 'has no tasks');
};

/** Describes the files of the change for the prompt. */
export const describeFiles = (change: Change, root: string) => {
  const files = change.files(root);
  return {
    changeFolder: change.folder,
    tasksFile: basename(change.tasksFile),
    files: files.map(({ name }) => name),
    hasSpecs: files.some(({ kind }) => kind === 'spec'),
  } satisfies PromptOptions;
};

/**
 * Reads the proposal and the module again for every iteration, to include the user's edits. An edit that an agent may have
 * made is ignored until it is accepted: the expected version is used instead.
 */
export const createAssignmentReader = (
  context: RestoreContext & Pick<RunContext, 'project' | 'assignment' | 'workspace'>,
): (() => Promise<Assignment>) => {
  const { project, plan, assignment, guard, workspace } = context;
  const change = changeOf(project, plan.change);
  const trusted = new Map<string, string>();
  const readGuarded = async (key: string): Promise<string | null> => {
    const bytes = readIfPossible(join(project.root, key));
    const text = bytes?.toString('utf8') ?? null;
    if (workspace.worktree !== null || plan.gate.allowTampering || guard.isExpected(key, bytes)) {
      if (text !== null) trusted.set(key, text);
      return text;
    }
    const expected =
      trusted.get(key) ?? (await expectedVersion(context, { kind: 'changed', key }))?.bytes.toString('utf8');
    if (expected !== undefined) trusted.set(key, expected);
    return expected ?? text;
  };
  return async () => {
    const modulePath = pathOf(change, 'module', project.root);
    const proposal = await readGuarded(change.proposalFile);
    const module = modulePath === null ? null : await readGuarded(modulePath);
    return { ...assignment, proposal: proposal ?? assignment.proposal, module };
  };
};

const pathOf = (change: Change, kind: DocumentKind, root: string): string | null =>
  change.documents(root).find((document) => document.kind === kind)?.path ?? null;

const readIfPossible = (file: string): Buffer | null => {
  try {
    return readSafely(file);
  } catch {
    return null;
  }
};
