import { existsSync } from 'node:fs';
import { asUserError } from '../../errors.ts';
import { archiveJournalFile, archiveLockFile } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';

/**
 * Finishes a `spool archive` that was killed. Returns a line about it; null if there is none, or if another process is
 * finishing it. Only checks whether a file exists otherwise. A problem is returned as well: it must not stop a command
 * that has nothing to do with the archive.
 */
export const finishArchive = async (project: Project, env: NodeJS.ProcessEnv): Promise<string | null> => {
  if (!existsSync(archiveJournalFile(project))) return null;
  try {
    return await lockAndFinish(project, env);
  } catch (error) {
    const problem = asUserError(error);
    if (problem === null) throw error;
    return `"spool archive" was interrupted, and cannot be finished yet: ${problem.message}`;
  }
};

const lockAndFinish = async (project: Project, env: NodeJS.ProcessEnv): Promise<string | null> => {
  const { acquireLock } = await import('../../store/lock.ts');
  const lock = acquireLock(archiveLockFile(project), 'archive');
  if (lock.kind === 'taken') return null;
  try {
    return await finishLocked(project, env);
  } finally {
    lock.release();
  }
};

/** The same for a process that holds the lock. */
export const finishLocked = async (project: Project, env: NodeJS.ProcessEnv): Promise<string | null> => {
  if (!existsSync(archiveJournalFile(project))) return null;
  const { finishJournal } = await import('./journal.ts');
  return finishJournal(project, env);
};
