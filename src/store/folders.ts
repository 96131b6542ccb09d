import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createFolder, entriesOf, removeOwn, writeOwn } from '../files/own.ts';
import { processStart } from '../process/start-time.ts';
import { type Project, ralphFolder, stateFolder } from './project.ts';
import { runFolder } from './state.ts';

/** Creates the folder, which only its owner can read, and hides the state from git. */
export const makeRalphFolder = (project: Project, changeId: string): void => {
  hideStateFromGit(project);
  createFolder(ralphFolder(project, changeId));
};

/** Returns whether the file had to be created. */
export const hideStateFromGit = (project: Project): boolean => {
  const spool = dirname(stateFolder(project));
  createFolder(spool);
  // Node reports a read-only file system as "no such file" when it creates several folders.
  accessSync(spool, constants.W_OK);
  createFolder(stateFolder(project));
  try {
    writeOwn(join(stateFolder(project), '.gitignore'), '*\n', 'create');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

export const hideWorktreesFromGit = (project: Project): void => {
  const folder = join(project.root, '.spool', 'worktrees');
  createFolder(folder);
  const ignore = join(folder, '.gitignore');
  if (!existsSync(ignore)) writeOwn(ignore, '*\n', 'create');
};

/** Creates the folder of one run, for its prompts, logs and journal. */
export const makeRunFolder = (project: Project, changeId: string, run: string): string => {
  const folder = runFolder(project, changeId, run);
  createFolder(folder);
  return folder;
};

/** Returns the path of a new temporary file. Removes those of processes that were killed. */
export const newScratch = (folder: string): string => {
  for (const { name } of entriesOf(folder)) {
    const pid = /^scratch\.(\d+)\./.exec(name)?.[1];
    if (pid !== undefined && processStart(Number(pid)) === null) removeOwn(join(folder, name));
  }
  return join(folder, `scratch.${process.pid}.${crypto.randomUUID()}`);
};
