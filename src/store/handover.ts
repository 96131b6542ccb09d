import { dirname } from 'node:path';
import { createFolder } from '../files/folders.ts';
import { readSafely, replaceSafely } from '../files/safe.ts';
import { cleanNotes } from '../ralph/handover/find.ts';
import { addNotes, type HandoverNote, type HandoverNotes, noNotes, quoteNotes } from '../ralph/handover/notes.ts';
import { count, object, parseJson, required, type Shape, text, validItems, withFallback } from '../text/shape.ts';
import type { ChangeRef } from './change-ref.ts';
import { makeRalphFolder } from './folders.ts';
import { handoverFile, userHandoverFile } from './paths.ts';
import { userStateFolder } from './user-state/folder.ts';

/*
 * The notes that iterations leave for the next ones. They become part of prompts, so only those in the user's state folder
 * count. handover.md in the project is a copy for people: what an agent writes there is ignored.
 */

const note: Shape<HandoverNote> = object<HandoverNote>({
  run: required(text),
  iteration: required(count),
  text: required(text),
});

/** What the user state has; undefined if it is damaged. */
const parseHandover: Shape<HandoverNotes> = object<HandoverNotes>({
  notes: withFallback([], validItems(note)),
  patterns: withFallback([], validItems(text)),
});

const userFile = ({ project, change, env }: ChangeRef) => userHandoverFile(userStateFolder(project, change, env));

export const loadHandover = (of: ChangeRef): HandoverNotes =>
  parseHandover(parseJson(readSafely(userFile(of))?.toString('utf8') ?? '')) ?? noNotes;

/** Whether handover.md is not as Spool has written it. A missing file is not edited. */
export const isHandoverEdited = (of: ChangeRef): boolean => {
  try {
    const shown = readSafely(handoverFile(of.project, of.change))?.toString('utf8');
    return shown !== undefined && shown !== pageOf(loadHandover(of));
  } catch {
    // A link, a folder, or a file that is too large. It is replaced with the next notes.
    return true;
  }
};

export const saveHandover = (of: ChangeRef, notes: HandoverNotes): void => {
  createFolder(dirname(userFile(of)));
  replaceSafely(userFile(of), `${JSON.stringify(notes, null, 2)}\n`);
  makeRalphFolder(of.project, of.change);
  replaceSafely(handoverFile(of.project, of.change), pageOf(notes));
};

/** Deletes the notes, if there are any. */
export const clearHandover = (of: ChangeRef): void => {
  if (readSafely(userFile(of)) !== null) saveHandover(of, noNotes);
};

/**
 * Adds the notes of a run that a worker has sent. The worker is another user: they are cleaned and limited like those of
 * an agent.
 */
export const adoptHandover = (of: ChangeRef, run: string, sent: Buffer | undefined): void => {
  const { notes, patterns } = parseHandover(parseJson(sent?.toString('utf8') ?? '')) ?? noNotes;
  const own = notes.filter((each) => each.run === run);
  const last = own.at(-1);
  if (last === undefined) return;
  const texts = own.map(({ iteration, text: said }) => ({ run, iteration, handover: cleanNotes(said) }));
  const about = {
    ...last,
    handover: `Patterns:\n${patterns.map((each) => `- ${oneLine(cleanNotes(each))}`).join('\n')}`,
  };
  const all = texts.reduce(addNotes, addNotes(noNotes, about));
  saveHandover(of, all);
};

const oneLine = (lines: string): string => lines.replaceAll('\n', ' ');

const pageOf = (notes: HandoverNotes): string => {
  const run = notes.notes.at(-1)?.run ?? '';
  return `# Handover notes of spool ralph\n\nA copy for people: changes to this file have no effect.\n\n${quoteNotes(notes, run) ?? 'There are none.'}\n`;
};
