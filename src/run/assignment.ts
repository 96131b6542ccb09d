import { basename } from 'node:path';
import { userError } from '../errors.ts';
import type { Change, DocumentKind, PromptSection } from '../changes/source.ts';
import { isOneFile, readTasks } from '../changes/tasks/read.ts';
import { readInside, textInside } from '../files/inside.ts';
import { writeSafely } from '../files/safe.ts';
import { readText } from '../files/read.ts';
import { countTasks } from '../changes/tasks/task.ts';
import { splitKey } from '../guard/deciders/parts.ts';
import { textKey } from '../guard/goal.ts';
import { flagOf } from '../config/flags.ts';
import { maxScenarios } from '../ralph/ledger-bounds.ts';
import { gateCommands, type RunPlan } from '../ralph/plan.ts';
import type { PromptDocument, PromptOptions } from '../ralph/prompt.ts';
import type { Assignment, RunContext } from './context.ts';
import type { RunSpec } from './spec.ts';
import { expectedVersion, type RestoreContext } from './gate/restore-instructions.ts';
import { userPromptFile } from '../store/paths.ts';

export const readAssignment = ({ project: { root }, target, prompt, newChange }: RunSpec): Assignment => {
  const { id, proposalFile } = target;
  const proposal = newChange?.proposal ?? textInside(root, proposalFile);
  if (proposal === null) throw userError('no-proposal', id, proposalFile);
  const module = pathOf(target, 'module', root);
  return { proposal, module: module === null ? null : textInside(root, module), documents: [], userPrompt: prompt };
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
  { project, target, newChange }: RunSpec,
  { proposal, userPrompt }: Assignment,
  { gate }: RunPlan,
): void => {
  if (newChange) {
    if (gate.requireScenarios) throw userError('no-scenarios', target.id, proofFlag(gate), 'none');
    return;
  }
  const { id, proposalFile, tasksFile, format } = target;
  if (userPrompt.trim() === '' && target.isTemplate(proposal))
    throw userError('empty-proposal', id, proposalFile, id.replace(/^(\d{3}-\d\d)_.*/, '$1'));
  // Throws if the file does not have its format.
  if (isOneFile(target)) format.tasks(proposal);
  if (!gate.requireTasks) return;
  const tasks = readTasks(target, project.root);
  if (tasks === null) throw userError('no-tasks', tasksFile, 'not found', format.firstTask);
  if (countTasks(tasks).total === 0) throw userError('no-tasks', tasksFile, 'has no tasks', format.firstTask);
};

/** Throws if nothing could ever be proven. A resumed run is checked too: the specs may have changed since. */
export const checkScenarios = async ({ project, target }: RunSpec, { gate }: RunPlan): Promise<void> => {
  if (!gate.requireScenarios) return;
  const { scenariosOf } = await import('../changes/scenarios/scenarios.ts');
  const { length } = scenariosOf(target, project.root);
  const problem =
    length === 0 ? 'none' : length > maxScenarios ? 'too-many' : gateCommands(gate).length === 0 ? 'no-command' : null;
  if (problem !== null) throw userError('no-scenarios', target.id, proofFlag(gate), problem);
};

const proofFlag = ({ redFirst }: RunPlan['gate']): string => flagOf(redFirst ? 'redFirst' : 'requireScenarios');

/** Describes the files of the change for the prompt. */
export const describeFiles = (change: Change, root: string): PromptOptions => {
  const files = change.files(root);
  const { tasksFile, format } = change;
  const { whenDone, allowedEdits } = format;
  if (isOneFile(change)) return { tasksFile, whenDone, taskFile: { path: tasksFile, allowedEdits } };
  return {
    changeFolder: change.folder,
    tasksFile: basename(tasksFile),
    whenDone,
    files: files.map(({ name }) => name),
    hasSpecs: files.some(({ kind }) => kind === 'spec'),
  };
};

/**
 * Reads the proposal, the module and the other documents again for every iteration, to include the user's edits. An
 * edit that an agent may have made is ignored until it is accepted: the expected version is used instead.
 */
export const createAssignmentReader = (
  context: RestoreContext & Pick<RunContext, 'project' | 'assignment' | 'workspace'>,
): (() => Promise<Assignment>) => {
  const { project, plan, assignment, guard, workspace, target, workProject } = context;
  const { root } = project;
  const trusted = new Map<string, string>();
  const readGuarded = async (key: string, from = root): Promise<string | null> => {
    const bytes = readIfPossible(from, splitKey(key).path);
    const text = bytes?.toString('utf8') ?? null;
    const isOnlyOfUser = workspace.worktree !== null && from === root;
    if (isOnlyOfUser || plan.gate.allowTampering || guard.isExpected(key, bytes)) {
      if (text !== null) trusted.set(key, text);
      return text;
    }
    const expected =
      trusted.get(key) ?? (await expectedVersion(context, { kind: 'changed', key }))?.bytes.toString('utf8');
    if (expected !== undefined) trusted.set(key, expected);
    return expected ?? text;
  };
  // The agent ticks tasks where it works.
  const readCurrent = async (path: string) =>
    path === target.tasksFile ? (readIfPossible(workProject.root, path)?.toString('utf8') ?? null) : readGuarded(path);
  return async () => {
    const modulePath = pathOf(target, 'module', root);
    const proposal = isOneFile(target)
      ? await readGuarded(textKey(target), workProject.root)
      : await readGuarded(target.proposalFile);
    const module = modulePath === null ? null : await readGuarded(modulePath);
    const documents = await readSections(target.sections(root), readCurrent);
    return { ...assignment, proposal: proposal ?? assignment.proposal, module, documents };
  };
};

/** In characters. A longer text, or more of them, would leave an agent no room to work. */
const maxSection = 64 * 1024;
const maxSections = 256 * 1024;

const readSections = async (
  sections: readonly PromptSection[],
  read: (path: string) => Promise<string | null>,
): Promise<PromptDocument[]> => {
  const documents: PromptDocument[] = [];
  let left = maxSections;
  for (const { title, path, excerpt = (text: string) => text } of sections) {
    const whole = await read(path);
    const text = whole === null ? null : excerpt(whole);
    if (text === null || text.trim() === '') continue;
    const fits = text.length <= Math.min(maxSection, left);
    if (fits) left -= text.length;
    documents.push({ title, text: fits ? text : `Too long to be included here: read \`${path}\`.` });
  }
  return documents;
};

const pathOf = (change: Change, kind: DocumentKind, root: string): string | null =>
  change.documents(root).find((document) => document.kind === kind)?.path ?? null;

const readIfPossible = (root: string, path: string): Buffer | null => {
  try {
    return readInside(root, path);
  } catch {
    return null;
  }
};
