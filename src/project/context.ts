import { closeSync, existsSync, fstatSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { userError } from '../errors.ts';
import { openOwn, readAll, writeOwn } from '../files/own.ts';
import { readIfThere } from './files.ts';
import type { Project } from './find.ts';
import { ralphFolder } from './state.ts';
import { makeRalphFolder } from './state-folder.ts';

const contextFile = (project: Project, changeId: string) => join(ralphFolder(project, changeId), 'context.txt');

/** null when there is none. */
export const loadContext = (project: Project, changeId: string): Promise<string | null> =>
  readIfThere(contextFile(project, changeId));

/** Appends in one write, which the system puts at the end of the file whoever else is writing. */
export const addContext = (project: Project, changeId: string, text: string): void => {
  makeRalphFolder(project, changeId);
  const path = contextFile(project, changeId);
  const file = openOwn(path, 'append');
  try {
    const bytes = Buffer.from(`${endsMidLine(file) ? '\n' : ''}${text.replace(/\n+$/, '')}\n`);
    if (writeSync(file, bytes) < bytes.length) throw userError('io', path, 'the disk is full, only a part was added');
  } finally {
    closeSync(file);
  }
};

export const clearContext = (project: Project, changeId: string): void => {
  makeRalphFolder(project, changeId);
  writeOwn(contextFile(project, changeId), '');
};

/** Takes lines out. They are blanked where they stand, so that nothing is lost that somebody appends meanwhile. */
export const dropFromContext = (project: Project, changeId: string, isMeant: (line: string) => boolean): void => {
  const path = contextFile(project, changeId);
  if (!existsSync(path)) return;
  const file = openOwn(path, 'update');
  try {
    let at = 0;
    for (const line of readAll(file).toString('latin1').split('\n')) {
      if (isMeant(Buffer.from(line, 'latin1').toString())) writeSync(file, ' '.repeat(line.length), at);
      at += line.length + 1;
    }
  } finally {
    closeSync(file);
  }
};

/** True for a file that somebody edited by hand and left without a last newline. */
const endsMidLine = (file: number): boolean => {
  const { size } = fstatSync(file);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
};
