import { closeSync, existsSync, fstatSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { userError } from '../errors.ts';
import { isTracked } from '../git/work-tree.ts';
import { createFolder } from '../files/folders.ts';
import { openSafely, readAll, readSafely, replaceSafely, writeSafely } from '../files/safe.ts';
import type { Project } from './project.ts';
import { hasOtherRuns, userRecordFolder } from './user-record.ts';
import { makeRalphFolder } from './folders.ts';
import { contextFile, landingNoteFile, recordedContextFile } from './paths.ts';

/** Names the change, and the environment that locates the user's state folder. */
export interface ContextOf {
  readonly project: Project;
  readonly change: string;
  readonly env: NodeJS.ProcessEnv;
}

const fileOf = ({ project, change }: ContextOf) => contextFile(project, change);
const recordFile = ({ project, change, env }: ContextOf) => recordedContextFile(userRecordFolder(project, change, env));

export interface Context {
  /** What people have added; null when they have added nothing. */
  readonly text: string | null;
  /** context.txt differs from it: an agent, or a person, has edited the file. */
  readonly isEdited: boolean;
}

export const loadContext = (of: ContextOf): Context => {
  const [shown, text] = [textIn(fileOf(of)), textIn(recordFile(of))];
  return { text, isEdited: linesOf(shown) !== linesOf(text) };
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
export const addContext = (of: ContextOf, text: string): void => {
  makeRalphFolder(of.project, of.change);
  createFolder(dirname(recordFile(of)));
  for (const path of [recordFile(of), fileOf(of)]) append(path, text);
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

export const clearContext = (of: ContextOf): void => {
  makeRalphFolder(of.project, of.change);
  createFolder(dirname(recordFile(of)));
  for (const path of [fileOf(of), recordFile(of)]) writeSafely(path, '');
};

/**
 * Records a context.txt that has no record yet. Called before an agent works: a person has written the file, unless it
 * came with the repository or agents have worked in the project before.
 */
export const adoptContext = async (of: ContextOf): Promise<void> => {
  if (textIn(recordFile(of)) !== null) return;
  const text = textIn(fileOf(of)) ?? '';
  const isPersons =
    text === '' || !(hasOtherRuns(dirname(recordFile(of))) || (await isTracked(of.project.root, fileOf(of))));
  createFolder(dirname(recordFile(of)));
  writeSafely(recordFile(of), isPersons ? text : '');
};

/** Accepts context.txt as what a person has added. Returns false when nothing has changed. */
export const acceptContext = (of: ContextOf): boolean => {
  if (!loadContext(of).isEdited) return false;
  createFolder(dirname(recordFile(of)));
  replaceSafely(recordFile(of), textIn(fileOf(of)) ?? '');
  return true;
};

const noteFile = ({ project, change, env }: ContextOf) => landingNoteFile(userRecordFolder(project, change, env));

/** Replaces the line that Spool itself adds to the context when a landing fails. null removes it. */
export const setLandingNote = (of: ContextOf, note: string | null): void => {
  const earlier = textIn(noteFile(of)) || null;
  if (earlier !== null && earlier !== note) dropFromContext(of, earlier);
  if (earlier !== note) {
    createFolder(dirname(noteFile(of)));
    // First, so that a line that is there is always known.
    replaceSafely(noteFile(of), note ?? '');
  }
  if (note !== null && !loadContext(of).text?.split('\n').includes(note)) addContext(of, note);
};

/** Removes a line by overwriting it with blanks, so that a concurrent addition is not lost. */
const dropFromContext = (of: ContextOf, line: string): void => {
  for (const path of [fileOf(of), recordFile(of)]) if (existsSync(path)) blank(path, line);
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

/** True for a file that was edited by hand and has no newline at its end. */
const endsMidLine = (file: number): boolean => {
  const { size } = fstatSync(file);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
};
