import { sha256 } from '@noble/hashes/sha2.js';
import { closeSync, existsSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { userError } from '../errors.ts';
import { isTracked } from '../git/work-tree.ts';
import { endsMidLine } from '../files/line-end.ts';
import { createFolder } from '../files/folders.ts';
import { openSafely, readAll, readSafely, replaceSafely, writeSafely } from '../files/safe.ts';
import type { ChangeRef } from './change-ref.ts';
import { hasOtherRuns, userStateFolder } from './user-state/folder.ts';
import { makeRalphFolder } from './folders.ts';
import { contextFile, landingNoteFile, userContextFile } from './paths.ts';

const fileOf = ({ project, change }: ChangeRef) => contextFile(project, change);
const userFile = ({ project, change, env }: ChangeRef) => userContextFile(userStateFolder(project, change, env));

export interface Context {
  /** The text that the user has added; null if there is none. */
  readonly text: string | null;
  /** context.txt differs from it: an agent or the user has edited the file. */
  readonly isEdited: boolean;
}

export const loadContext = (of: ChangeRef): Context => {
  const [shown, text] = [textIn(fileOf(of)), textIn(userFile(of))];
  return { text, isEdited: linesOf(shown) !== linesOf(text) };
};

/** Identifies what people have added; null when that is nothing. The order of lines and blank lines do not count. */
export const contextId = (text: string | null): string | null => {
  const lines = linesOf(text);
  return lines === ''
    ? null
    : Buffer.from(sha256(Buffer.from(lines)))
        .toString('hex')
        .slice(0, 12);
};

const textIn = (path: string): string | null => readSafely(path)?.toString('utf8') ?? null;

/** Concurrent additions may be in a different order in each file. Blank lines do not count. */
const linesOf = (text: string | null): string =>
  (text ?? '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .toSorted()
    .join('\n');

/** Appends in one write, so that concurrent additions do not mix. */
export const addContext = (of: ChangeRef, text: string): void => {
  makeRalphFolder(of.project, of.change);
  createFolder(dirname(userFile(of)));
  for (const path of [userFile(of), fileOf(of)]) append(path, text);
};

const append = (path: string, text: string): void => {
  const file = openSafely(path, 'append');
  try {
    const bytes = Buffer.from(`${endsMidLine(file) ? '\n' : ''}${text.replace(/(?<!\n)\n+$/, '')}\n`);
    if (writeSync(file, bytes) < bytes.length) throw userError('io', path, 'the disk is full, only a part was added');
  } finally {
    closeSync(file);
  }
};

export const clearContext = (of: ChangeRef): void => {
  makeRalphFolder(of.project, of.change);
  createFolder(dirname(userFile(of)));
  for (const path of [fileOf(of), userFile(of)]) writeSafely(path, '');
};

/**
 * Records a context.txt that the user state does not have yet. Called before an agent works: the user has written the
 * file, unless it came with the repository or agents have worked in the project before.
 */
export const adoptContext = async (of: ChangeRef): Promise<void> => {
  if (textIn(userFile(of)) !== null) return;
  const text = textIn(fileOf(of)) ?? '';
  const isUsers =
    text === '' || !(hasOtherRuns(dirname(userFile(of))) || (await isTracked(of.project.root, fileOf(of))));
  createFolder(dirname(userFile(of)));
  writeSafely(userFile(of), isUsers ? text : '');
};

/** Accepts context.txt as the text of the user. Returns false if nothing has changed. */
export const acceptContext = (of: ChangeRef): boolean => {
  if (!loadContext(of).isEdited) return false;
  createFolder(dirname(userFile(of)));
  replaceSafely(userFile(of), textIn(fileOf(of)) ?? '');
  return true;
};

const noteFile = ({ project, change, env }: ChangeRef) => landingNoteFile(userStateFolder(project, change, env));

/** Replaces the line that Spool itself adds to the context when a landing fails. null removes it. */
export const setLandingNote = (of: ChangeRef, note: string | null): void => {
  const earlier = textIn(noteFile(of)) || null;
  if (earlier !== null && earlier !== note) dropFromContext(of, earlier);
  if (earlier !== note) {
    createFolder(dirname(noteFile(of)));
    // Recorded first, so that every line in the file is known.
    replaceSafely(noteFile(of), note ?? '');
  }
  if (note !== null && !loadContext(of).text?.split('\n').includes(note)) addContext(of, note);
};

/** Removes a line by overwriting it with blanks, so that a concurrent addition is not lost. */
const dropFromContext = (of: ChangeRef, line: string): void => {
  for (const path of [fileOf(of), userFile(of)]) if (existsSync(path)) blank(path, line);
};

const blank = (path: string, meant: string): void => {
  const file = openSafely(path, 'update');
  try {
    let at = 0;
    for (const line of readAll(file).toString('latin1').split('\n')) {
      if (Buffer.from(line, 'latin1').toString() === meant) writeSync(file, ' '.repeat(line.length), at);
      at += line.length + 1;
    }
  } finally {
    closeSync(file);
  }
};
