import { join } from 'node:path';
import { createFolder } from '../files/folders.ts';
import { removeSafely, replaceSafely } from '../files/safe.ts';
import { readJson } from '../files/read.ts';
import { isKnown } from './user-record/identity.ts';
import { recordedRunsFolder } from './paths.ts';

/** What a run saves for a resume or a rewind. It decides what is counted, committed and rewound. */
export interface Notes {
  /** Returns undefined if the note does not exist or is damaged. */
  read(name: NoteName): unknown;
  write(name: NoteName, data: unknown): void;
  remove(name: NoteName): void;
}

/** What the trees of a run leave out, what git ignored before its agents worked, and what is not committed yet. */
const noteNames = ['skipped.json', 'ignored.json', 'uncommitted.json'] as const;

type NoteName = (typeof noteNames)[number];

/** Names in version 1. */
const formerNames: Readonly<Partial<Record<NoteName, string>>> = { 'skipped.json': 'left-out.json' };

const readNote = (folder: string, name: NoteName): unknown =>
  readJson(join(folder, name)) ?? readJson(join(folder, formerNames[name] ?? name));

interface NotesOf {
  readonly run: string;
  /** The folder of the run in the project. */
  readonly folder: string;
  /** The folder of the change in the user's state folder. */
  readonly record: string;
}

interface WritableNotesOf extends NotesOf {
  /** Redacts secrets in what is written to the project. */
  readonly redact: <Data>(data: Data) => Data;
}

/** Reads the notes of a run: from the record if it was started here, otherwise from the project. */
export const openNotes = (of: NotesOf): Pick<Notes, 'read'> => {
  const folder = isKnown(of.record, of) ? recordedIn(of) : of.folder;
  return { read: (name) => readNote(folder, name) };
};

/** Opens the notes of a run that is started or resumed. Called before the run is recorded, because after that the notes in the record count. */
export const adoptNotes = (of: WritableNotesOf): Notes => {
  const recorded = recordedIn(of);
  createFolder(recorded);
  if (!isKnown(of.record, of))
    for (const name of noteNames) {
      const note = readNote(of.folder, name);
      if (note !== undefined) replaceSafely(join(recorded, name), JSON.stringify(note));
    }
  return notesIn(of);
};

export const dropNotes = (of: Omit<NotesOf, 'folder'>): void => removeSafely(recordedIn(of));

const recordedIn = ({ record, run }: Omit<NotesOf, 'folder'>): string => join(recordedRunsFolder(record), run);

/** Also writes them to the project, for other machines that share it, with secrets in file names redacted. */
const notesIn = ({ folder, redact, ...of }: WritableNotesOf): Notes => {
  const recorded = recordedIn(of);
  return {
    read: (name) => readNote(recorded, name),
    write: (name, data) => {
      replaceSafely(join(recorded, name), toText(data));
      replaceSafely(join(folder, name), toText(redact(data)));
    },
    remove: (name) => {
      for (const each of [recorded, folder]) removeSafely(join(each, name));
    },
  };
};

const toText = (data: unknown) => `${JSON.stringify(data, null, 2)}\n`;
