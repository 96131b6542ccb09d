import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { userError } from '../errors.ts';
import { removeIfEmpty } from '../files/folders.ts';
import { readSafely, removeSafely } from '../files/safe.ts';
import { allRunsFolder, ralphFolder, stateFolder, stateIgnoreFile } from '../store/paths.ts';
import type { Project } from '../store/project.ts';
import type { NewChange } from './source.ts';
import { nextChangeNumber, withCreateLock, writeChange } from './spool/create.ts';
import { changeNumber, moduleOf, noModule, slugOf } from './spool/ids.ts';
import { changesPath } from './spool/paths.ts';
import { spoolSource } from './spool/source.ts';
import { promptProposal, promptTasks, promptTitle } from './spool/from-prompt.ts';

interface PromptForChange {
  /** null for none. */
  readonly module: string | null;
  readonly text: string;
  /** The same text without secrets, for the id and the title. */
  readonly publicText: string;
  readonly withTasks: boolean;
}

/** Drafts a change from a prompt. Writes nothing: another process may take its number before it is created. */
export const draftChange = async (
  project: Project,
  { module, text, publicText, withTasks }: PromptForChange,
): Promise<NewChange> => {
  const title = promptTitle(publicText);
  const moduleId = module ?? noModule;
  return {
    id: `${moduleId}-${await nextChangeNumber(project, moduleId)}_${slugOf(publicText)}`,
    proposal: promptProposal(title, text),
    tasks: withTasks ? promptTasks(title) : null,
  };
};

/** Creates a drafted change, and the project if there is none. Throws if its number was taken since it was drafted. */
export const createDrafted = async (project: Project, draft: NewChange): Promise<void> => {
  const module = moduleOf(draft.id)!;
  await withCreateLock(project, async () => {
    if (changeNumber(draft.id, module) !== Number(await nextChangeNumber(project, module)))
      throw userError('id-taken', draft.id);
    try {
      writeChange(project, draft);
    } catch (error) {
      removeSafely(join(project.root, spoolSource.change(project.root, draft.id).folder));
      throw error;
    }
  });
};

/**
 * Deletes a change whose run was not started, with its state, unless it has been edited. With `isAlone`, also
 * deletes the project if nothing else is in it.
 */
export const removeDrafted = (project: Project, draft: NewChange, { isAlone }: { isAlone: boolean }): void => {
  const { root } = project;
  const { folder, proposalFile } = spoolSource.change(project.root, draft.id);
  if (readSafely(join(root, proposalFile))?.toString('utf8') !== draft.proposal) return;
  removeSafely(join(root, folder));
  removeSafely(ralphFolder(project, draft.id));
  if (isAlone) removeEmptyProject(project);
};

/** Removes what was created for a project that has no changes. */
export const removeEmptyProject = (project: Project): void => {
  if (existsSync(join(project.root, changesPath)) && !removeIfEmpty(join(project.root, changesPath))) return;
  removeIfEmpty(allRunsFolder(project));
  removeSafely(stateIgnoreFile(project));
  removeIfEmpty(stateFolder(project));
  removeIfEmpty(join(project.root, '.spool'));
};
