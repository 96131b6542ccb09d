import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createFolder, entriesOf, removeOwn, writeOwn } from '../files/own.ts';
import { processStart } from '../process/start-time.ts';
import { type Project, ralphFolder, stateFolder } from './project.ts';
import { runFolder } from './state.ts';

/** Makes the folder, readable by its owner only, and hides all of the state from git. */
export const makeRalphFolder = (project: Project, changeId: string): void => {
  hideStateFromGit(project);
  createFolder(ralphFolder(project, changeId));
};

/** Says whether the file had to be made. */
export const hideStateFromGit = (project: Project): boolean => {
  const spool = dirname(stateFolder(project));
  createFolder(spool);
  // Asked, because Node calls a read-only file system "no such file" when it makes more than one folder.
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

/** Makes the folder of one run, for the prompts and the logs of its iterations. */
export const makeRunFolder = (project: Project, changeId: string, run: string): string => {
  const folder = runFolder(project, changeId, run);
  createFolder(folder);
  return folder;
};

/** The path of a file of our own for a while. Those that processes have left that were killed are removed. */
export const newScratch = (folder: string): string => {
  for (const { name } of entriesOf(folder)) {
    const pid = /^scratch\.(\d+)\./.exec(name)?.[1];
    if (pid !== undefined && processStart(Number(pid)) === null) removeOwn(join(folder, name));
  }
  return join(folder, `scratch.${process.pid}.${crypto.randomUUID()}`);
};
