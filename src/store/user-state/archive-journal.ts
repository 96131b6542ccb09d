import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { createFolder } from '../../files/folders.ts';
import { readText } from '../../files/read.ts';
import { removeSafely, replaceSafely } from '../../files/safe.ts';
import { archiveHashFile } from '../paths.ts';
import type { Project } from '../project.ts';
import { userStateFolder } from './folder.ts';

/*
 * A clone or an agent can put an archive journal into a project. Only one whose hash is recorded here is finished.
 */

/** Called before the journal is written. */
export const recordArchiveJournal = (project: Project, env: NodeJS.ProcessEnv, journal: string): void => {
  const file = fileFor(project, env);
  createFolder(dirname(file));
  replaceSafely(file, `${hashOf(journal)}\n`);
};

/** Whether a journal was written here. */
export const isRecordedJournal = (project: Project, env: NodeJS.ProcessEnv, journal: string): boolean =>
  readText(fileFor(project, env))?.trim() === hashOf(journal);

export const forgetArchiveJournal = (project: Project, env: NodeJS.ProcessEnv): void =>
  removeSafely(fileFor(project, env));

const fileFor = (project: Project, env: NodeJS.ProcessEnv): string =>
  archiveHashFile(userStateFolder(project, '_', env));

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
