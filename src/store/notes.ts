import { join } from 'node:path';
import { createFolder, removeOwn, replaceOwn } from '../files/own.ts';
import { readJson } from '../files/read.ts';
import { isKnown } from './record.ts';

/** What a run notes for when it is resumed or rewound. It decides what is counted, committed and rewound. */
export interface Notes {
  /** What is in it; undefined where there is none, or where it is damaged. */
  read(name: NoteName): unknown;
  write(name: NoteName, data: unknown): void;
  remove(name: NoteName): void;
}

/** What the trees of a run do not have, what was ignored before its agents worked, and what is in no commit. */
const noteNames = ['skipped.json', 'ignored.json', 'uncommitted.json'] as const;

type NoteName = (typeof noteNames)[number];

/** What version 1 called a note. */
const formerNames: Readonly<Partial<Record<NoteName, string>>> = { 'skipped.json': 'left-out.json' };

const readNote = (folder: string, name: NoteName): unknown =>
  readJson(join(folder, name)) ?? readJson(join(folder, formerNames[name] ?? name));

interface NotesOf {
  readonly run: string;
  /** That of the run, in the project. */
  readonly folder: string;
  /** That of the records of the change. */
  readonly record: string;
}

interface WritableNotesOf extends NotesOf {
  /** Takes secrets out of what is written to the project. */
  readonly redact: <Data>(data: Data) => Data;
}

/** The notes of a run, to be read: those in the record where it was started here, and those in the project of any other. */
export const openNotes = (of: NotesOf): Pick<Notes, 'read'> => {
  const folder = isKnown(of.record, of) ? recordedIn(of) : of.folder;
  return { read: (name) => readNote(folder, name) };
};

/** The same for who goes on with a run, called before that is recorded: from then on the notes in the record count. */
export const takeOverNotes = (of: WritableNotesOf): Notes => {
  const recorded = recordedIn(of);
  createFolder(recorded);
  if (!isKnown(of.record, of))
    for (const name of noteNames) {
      const note = readNote(of.folder, name);
      if (note !== undefined) replaceOwn(join(recorded, name), JSON.stringify(note));
    }
  return notesIn(of);
};

export const dropNotes = (of: Omit<NotesOf, 'folder'>): void => removeOwn(recordedIn(of));

const recordedIn = ({ record, run }: Omit<NotesOf, 'folder'>): string => join(record, 'runs', run);

/** They are written to the project as well, for another machine that shares it, but not the secrets in names of files. */
const notesIn = ({ folder, redact, ...of }: WritableNotesOf): Notes => {
  const recorded = recordedIn(of);
  return {
    read: (name) => readNote(recorded, name),
    write: (name, data) => {
      replaceOwn(join(recorded, name), toText(data));
      replaceOwn(join(folder, name), toText(redact(data)));
    },
    remove: (name) => {
      for (const each of [recorded, folder]) removeOwn(join(each, name));
    },
  };
};

const toText = (data: unknown) => `${JSON.stringify(data, null, 2)}\n`;
