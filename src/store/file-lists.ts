import { join } from 'node:path';
import { createFolder } from '../files/folders.ts';
import { removeSafely, replaceSafely } from '../files/safe.ts';
import { readJson } from '../files/read.ts';
import { isKnown } from './user-state/identity.ts';
import { userRunsFolder } from './paths.ts';

/** Lists of files that a run saves for a resume or a rewind. They decide what is counted, committed and rewound. */
export interface FileLists {
  /** Returns undefined if the list does not exist or is damaged. */
  read(name: ListName): unknown;
  write(name: ListName, data: unknown): void;
  remove(name: ListName): void;
}

/** What the trees of a run leave out, what git ignored before its agents worked, and what is not committed yet. */
const listNames = ['skipped.json', 'ignored.json', 'uncommitted.json'] as const;

type ListName = (typeof listNames)[number];

/** Names in version 1. */
const formerNames: Readonly<Partial<Record<ListName, string>>> = { 'skipped.json': 'left-out.json' };

const readList = (folder: string, name: ListName): unknown =>
  readJson(join(folder, name)) ?? readJson(join(folder, formerNames[name] ?? name));

interface ListsOf {
  readonly run: string;
  /** The folder of the run in the project. */
  readonly folder: string;
  /** The folder of the change in the user's state folder. */
  readonly userState: string;
}

interface WritableListsOf extends ListsOf {
  /** Redacts secrets in what is written to the project. */
  readonly redact: <Data>(data: Data) => Data;
}

/** Reads the lists of a run: from the user state if it was started here, otherwise from the project. */
export const openFileLists = (of: ListsOf): Pick<FileLists, 'read'> => {
  const folder = isKnown(of.userState, of) ? userFolderOf(of) : of.folder;
  return { read: (name) => readList(folder, name) };
};

/**
 * Opens the lists of a run that is started or resumed. Called before the run is recorded, because after that only those
 * in the user state count.
 */
export const adoptFileLists = (of: WritableListsOf): FileLists => {
  const recorded = userFolderOf(of);
  createFolder(recorded);
  if (!isKnown(of.userState, of))
    for (const name of listNames) {
      const list = readList(of.folder, name);
      if (list !== undefined) replaceSafely(join(recorded, name), JSON.stringify(list));
    }
  return listsIn(of);
};

export const dropFileLists = (of: Omit<ListsOf, 'folder'>): void => removeSafely(userFolderOf(of));

const userFolderOf = ({ userState, run }: Omit<ListsOf, 'folder'>): string => join(userRunsFolder(userState), run);

/** Writes them to the project as well, for other machines that share it, with secrets in file names redacted. */
const listsIn = ({ folder, redact, ...of }: WritableListsOf): FileLists => {
  const recorded = userFolderOf(of);
  return {
    read: (name) => readList(recorded, name),
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
