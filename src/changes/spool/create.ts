import { join } from 'node:path';
import { userError } from '../../errors.ts';
import { createFolder } from '../../files/folders.ts';
import { writeSafely } from '../../files/safe.ts';
import { type Project } from '../../store/project.ts';
import { changeNumber, isSlug, toSlug } from './ids.ts';
import { waitForLock } from '../../store/wait-for-lock.ts';
import { hideStateFromGit } from '../../store/folders.ts';
import type { Issue } from '../github-issue.ts';
import type { Change, NewChange } from '../source.ts';
import { listModules, moduleIdOf } from '../modules.ts';
import { changesPath, modulesPath } from './paths.ts';
import { spoolSource } from './source.ts';
import { issueProposal, issueTasks } from './from-issue.ts';
import { moduleTemplate, proposalTemplate, tasksTemplate } from './templates.ts';
import { createLockFile } from '../../store/paths.ts';

/** The folders that a project needs for changes and modules. */
export const planningFoldersOf = ({ root }: Project): string[] => [join(root, changesPath), join(root, modulesPath)];

/** Creates a module with the next free number. `file` is relative to the project. */
export const createModule = async (project: Project, slug: string): Promise<{ name: string; file: string }> => {
  checkSlug(slug);
  return withCreateLock(project, async () => {
    const used = listModules(project).map((name) => Number(moduleIdOf(name)));
    const id = nextNumber(used, 3, null);
    const name = `${id}_${slug}`;
    const folder = join(modulesPath, name);
    const file = join(folder, 'module.md');
    createFolder(join(project.root, folder));
    writeSafely(join(project.root, file), moduleTemplate(id, slug), 'create');
    return { name, file };
  });
};

export interface ChangeRequest {
  /** The number of the module. */
  readonly module: string;
  readonly slug: string;
  /** What the change is about; null for templates to fill in. */
  readonly issue: Issue | null;
}

/** Creates a change with the lowest number above all that the module has ever used, archived changes included. */
export const createChange = async (project: Project, { module, slug, issue }: ChangeRequest): Promise<Change> => {
  checkSlug(slug);
  return withCreateLock(project, async () => {
    const id = `${module}-${await nextChangeNumber(project, module)}_${slug}`;
    return writeChange(
      project,
      issue === null
        ? { id, proposal: proposalTemplate(id, slug), tasks: tasksTemplate(slug) }
        : { id, proposal: issueProposal(issue), tasks: issueTasks(issue) },
    );
  });
};

/** Throws if the change exists. */
export const writeChange = ({ root }: Project, { id, proposal, tasks }: NewChange): Change => {
  const change = spoolSource.change(root, id);
  createFolder(join(root, change.folder));
  writeSafely(join(root, change.proposalFile), proposal, 'create');
  if (tasks !== null) writeSafely(join(root, change.tasksFile), tasks, 'create');
  return change;
};

/** The lowest number above all that a module has ever used. */
export const nextChangeNumber = async ({ root }: Project, moduleId: string): Promise<string> => {
  const ids = [...(await spoolSource.list(root)), ...(await spoolSource.listArchived(root))];
  const used = ids.map((id) => changeNumber(id, moduleId)).filter((number) => number !== null);
  return nextNumber(used, 2, moduleId);
};

export const checkSlug = (slug: string): void => {
  if (!isSlug(slug)) throw userError('bad-slug', slug, toSlug(slug));
};

const nextNumber = (used: readonly number[], digits: number, module: string | null): string => {
  const next = String(Math.max(0, ...used) + 1);
  if (next.length > digits) throw userError('ids-exhausted', module);
  return next.padStart(digits, '0');
};

const lockTimeoutMs = 5000;

/** Two processes at the same time would take the same number. */
export const withCreateLock = async <Result>(project: Project, create: () => Promise<Result>): Promise<Result> => {
  hideStateFromGit(project);
  const lock = await waitForLock(createLockFile(project), 'create', lockTimeoutMs);
  try {
    return await create();
  } finally {
    lock.release();
  }
};
