import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { asUserError } from '../../errors.ts';
import { archiveJournalFile, archiveLockFile } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';

/**
 * Finishes an archiving that was killed. Returns a line about it; null if there is none, or if another process is at it.
 * Costs one look at a file. A command that has nothing to do with it is not stopped by a problem.
 */
export const finishArchive = async (project: Project, env: NodeJS.ProcessEnv): Promise<string | null> => {
  if (!existsSync(archiveJournalFile(project))) return null;
  try {
    return await finishUnlocked(project, env);
  } catch (error) {
    const problem = asUserError(error);
    if (problem === null) throw error;
    return `An archiving was interrupted, and cannot be finished yet: ${problem.message}`;
  }
};

const finishUnlocked = async (project: Project, env: NodeJS.ProcessEnv): Promise<string | null> => {
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
  const { applyJournal, dropJournal, isOwnJournal, obstacleTo, readJournal } = await import('./journal.ts');
  if (!isOwnJournal(project, env))
    return `${relative(project.root, archiveJournalFile(project))} is ignored: Spool has not written it on this machine. Delete it, and if an archiving was interrupted elsewhere, archive the change again.`;
  const journal = await readJournal(project);
  const obstacle = journal && obstacleTo(project, journal);
  if (journal !== null && obstacle === null) applyJournal(project, journal);
  dropJournal(project, env);
  if (journal === null) return null;
  return obstacle === null
    ? `Finished archiving ${journal.change} as ${journal.to}, which was interrupted.`
    : `Archiving ${journal.change} was interrupted, and ${obstacle} was changed since. Archive it again: spool archive ${journal.change}`;
};
