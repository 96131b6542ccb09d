import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { userError } from '../errors.ts';
import { createFolder, writeOwn } from '../files/own.ts';
import { listArchived, listChanges } from './changes.ts';
import { changesFolder, modulesFolder, type Project, stateFolder } from '../store/project.ts';
import { changeNumber, isSlug, toSlug } from './ids.ts';
import { acquireLock, type Lock } from '../store/lock.ts';
import { listModules, moduleIdOf } from './modules.ts';
import { hideStateFromGit } from '../store/folders.ts';
import { moduleTemplate, proposalTemplate, tasksTemplate } from './templates.ts';

/** Makes a module with the next free number; answers with the name of its folder. */
export const createModule = async (project: Project, slug: string): Promise<string> => {
  checkSlug(slug);
  return numberedAlone(project, async () => {
    const used = (await listModules(project)).map((name) => Number(moduleIdOf(name)));
    const id = nextNumber(used, 3, 'modules');
    const name = `${id}_${slug}`;
    const folder = join(modulesFolder(project), name);
    createFolder(folder);
    writeOwn(join(folder, 'module.md'), moduleTemplate(id, slug), 'create');
    return name;
  });
};

/** Makes a change with the next number that the module has never used; answers with its id. */
export const createChange = async (project: Project, moduleId: string, slug: string): Promise<string> => {
  checkSlug(slug);
  return numberedAlone(project, async () => {
    const names = [...(await listChanges(project)), ...(await listArchived(project))];
    const used = names.map((name) => changeNumber(name, moduleId)).filter((number) => number !== null);
    const id = `${moduleId}-${nextNumber(used, 2, `changes of module ${moduleId}`)}_${slug}`;
    const folder = join(changesFolder(project), id);
    createFolder(folder);
    writeOwn(join(folder, 'proposal.md'), proposalTemplate(id, slug), 'create');
    writeOwn(join(folder, 'tasks.md'), tasksTemplate(slug), 'create');
    return id;
  });
};

const checkSlug = (slug: string): void => {
  if (!isSlug(slug)) throw userError('bad-slug', slug, toSlug(slug));
};

const nextNumber = (used: readonly number[], digits: number, what: string): string => {
  const next = String(Math.max(0, ...used) + 1);
  if (next.length > digits) throw userError('ids-exhausted', what);
  return next.padStart(digits, '0');
};

/** Nobody needs longer to make a folder. */
const longestWaitMs = 5000;

/** One at a time, so that two people never get the same number. */
const numberedAlone = async <Result>(project: Project, make: () => Promise<Result>): Promise<Result> => {
  hideStateFromGit(project);
  const lock = await waitForLock(join(stateFolder(project), 'create.lock'));
  try {
    return await make();
  } finally {
    lock.release();
  }
};

const waitForLock = async (path: string): Promise<Lock> => {
  for (const deadline = performance.now() + longestWaitMs; ; await delay(10)) {
    const locking = acquireLock(path, 'create');
    if (locking.kind === 'held') return locking;
    if (performance.now() > deadline) throw userError('create-locked', locking.by.pid, locking.by.host, path);
  }
};
