import { createHash } from 'node:crypto';
import { accessSync, constants, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { isPlanning } from '../changes/planning-paths.ts';
import type { Change, DocumentKind } from '../changes/source.ts';
import { markdownTasks } from '../changes/tasks/format.ts';
import type { Task } from '../changes/tasks/task.ts';
import { wordingOf } from '../changes/wording.ts';
import { anyPath, namesIn } from '../files/bytes.ts';
import { stampOf } from '../files/stamp.ts';
import { checkOnce, isMissing } from '../files/checks.ts';
import { readRegular } from '../files/regular.ts';
import { readInside } from '../files/inside.ts';
import { maxText } from '../files/safe.ts';
import type { Redactor } from '../secrets/redact.ts';
import { type Project } from '../store/project.ts';
import { pluralise } from '../text/format.ts';
import { decidersOf } from './deciders/deciders.ts';
import { keyName, parseJsonObject, partKey, partOf, splitKey, textPart } from './deciders/parts.ts';
import type { Files } from './deciders/scope.ts';
import { configPath } from '../store/paths.ts';

/** Hashes by key: a path relative to the root, or a part of that file. null if it does not exist. */
export type Hashes = Readonly<Record<string, string | null>>;

interface GoalKeys {
  /** The keys of everything that exists now, and of files that must not be added. */
  readonly keys: readonly string[];
  /** The keys of files that an agent must not create, as far as they exist. */
  readonly closed: ReadonlySet<string>;
}

/** The goal of a change: the files that define what to do, and those that decide whether it is done. */
export interface Goal {
  readonly tasksKey: string;
  keys(): GoalKeys;
  /** Whether a key decides the outcome of a command, and is not a document of the change. */
  isDecider(key: string): boolean;
  hashes(keys: Iterable<string>): Hashes;
  /** The hash of a key in a version of its file; null if it is not in that version. */
  hashIn(key: string, bytes: Buffer | null): string | null;
  readonly taskTitles: () => string[];
  /** The required boxes that have tasks below them. */
  readonly parentTasks: () => readonly Task[];
  /** The titles of all open boxes in the task file, whether or not they are tasks. */
  readonly openBoxes: () => string[];
  /** Short names of what is guarded, without secrets. */
  names(redactor: Redactor): string[];
}

export interface GoalRequest {
  /** The folder in which the agents work. */
  readonly project: Project;
  readonly change: Change;
  /** The verify commands. */
  readonly commands: readonly string[];
}

export const openGoal = ({ project, change, commands }: GoalRequest): Goal => {
  const { root } = project;
  const files = filesAt(root);
  const exists = (path: string) => pathExists(join(root, path));
  const documents = () => change.documents(root).filter(({ path }) => exists(path));
  const hashIn = createHasher(change);
  const hashes = (keys: Iterable<string>) => hashesOf(keys, { root, change, hashIn });
  const hashOf = (key: string) => hashes([key])[key] ?? null;
  const isGuarded = (command: string) => decidersOf([command], files).some((key) => hashOf(key) !== null);
  const titlesIn = cacheLast(change.format.titles);
  const parentsIn = cacheLast(change.format.parents);
  const ownText = change.format.wording === null ? [] : [textKey(change)];
  const titles = () => titlesIn(files.read(change.tasksFile) ?? '');
  return {
    tasksKey: change.tasksFile,
    keys: () => {
      const present = documents();
      const paths = present.map(({ path }) => path);
      return {
        keys: [...new Set([...paths, ...ownText, configPath, ...decidersOf(commands, files)])],
        closed: new Set(present.filter(({ isClosed }) => isClosed).map(({ path }) => path)),
      };
    },
    isDecider: (key) => !isPlanning(change, splitKey(key).path),
    hashes,
    hashIn,
    taskTitles: titles,
    parentTasks: () => parentsIn(files.read(change.tasksFile) ?? '').filter(({ optional }) => !optional),
    openBoxes: () => change.format.openBoxes(files.read(change.tasksFile) ?? ''),
    names(redactor) {
      const present = documents();
      const named = (kind: DocumentKind) => present.filter((each) => each.kind === kind).map(({ name }) => name);
      const count = (number: number, what: string) => (number === 0 ? [] : [pluralise(number, what)]);
      return [
        ...named('proposal'),
        ...count(named('spec').length, 'spec'),
        ...count(titles().length, 'task'),
        ...named('design'),
        ...named('module'),
        ...named('context'),
        ...count(named('checklist').length, 'checklist'),
        ...count(named('main-spec').length, 'main spec'),
        ...(exists(configPath) ? ['config.json'] : []),
        ...decidersOf(commands, files)
          .filter((key) => hashOf(key) !== null)
          .map(keyName),
        ...commands
          .filter((command) => !isGuarded(command))
          .map((command) => `no files of "${redactor.beginningOf(command, maxCommandLength)}"`),
      ];
    },
  };
};

/** Remembers the result for the text of the last call. */
const cacheLast = <Result>(read: (text: string) => Result): ((text: string) => Result) => {
  let last: { readonly text: string; readonly result: Result } | null = null;
  return (text) => (last?.text === text ? last : (last = { text, result: read(text) })).result;
};

/** The current hashes of keys in a root. */
export const hashesIn = (root: string, keys: Iterable<string>): Hashes =>
  hashesOf(keys, { root, change: anyChange, hashIn: createHasher(anyChange) });

/** What a change says about its files. */
type Planning = Pick<Change, 'planningFolders' | 'tasksFile' | 'format' | 'isExact'>;

/** For files that belong to no change. */
const anyChange: Planning = {
  planningFolders: ['.spool'],
  tasksFile: '',
  format: markdownTasks,
  isExact: () => false,
};

/** The key of what an agent must not change in a task file besides the titles. */
export const textKey = ({ tasksFile }: Pick<Change, 'tasksFile'>): string => partKey(tasksFile, textPart);

const maxCommandLength = 40;

/** The hash of a key in a version of its file; null if the version does not have it. */
export const hashOfVersion = (key: string, bytes: Buffer, change: Planning): string | null => {
  const { path, part } = splitKey(key);
  const text = bytes.toString('utf8');
  if (part === textPart && path === change.tasksFile && change.format.wording !== null)
    return hash(change.format.wording(text));
  if (part !== null) return hash(partOf(text, part));
  if (!isPlanning(change, path) || path === change.tasksFile || change.isExact(path)) return hash(bytes);
  // Ticked boxes and reformatted text do not change the goal.
  if (path.endsWith('.md')) return hash(wordingOf(text));
  const json = path.endsWith('.json') ? parseJsonObject(text) : null;
  return json === null ? hash(bytes) : hash(JSON.stringify(json));
};

const hash = (content: string | Buffer | null): string | null =>
  content === null ? null : createHash('sha256').update(content).digest('hex');

/** Does not parse a version again that equals the last one. */
const createHasher = (change: Planning): Goal['hashIn'] => {
  const known = new Map<string, { readonly version: string | null; readonly goal: string | null }>();
  return (key, bytes) => {
    if (bytes === null) return null;
    const version = hash(bytes);
    const last = known.get(key);
    if (last?.version === version) return last.goal;
    const goal = hashOfVersion(key, bytes, change);
    known.set(key, { version, goal });
    return goal;
  };
};

interface HashRequest {
  readonly root: string;
  readonly change: Planning;
  readonly hashIn: Goal['hashIn'];
}

/** The current hashes of keys. A file that patterns no longer find counts as changed. */
const hashesOf = (keys: Iterable<string>, { root, change, hashIn }: HashRequest): Hashes => {
  const canBeListed = createListCheck(root);
  const hashOf = (key: string): string | null => {
    const { path } = splitKey(key);
    const content = contentOf(root, path, change);
    const hash = typeof content === 'string' ? content : hashIn(key, content);
    return hash === null || canBeListed(path) ? hash : `${hash} in an unreadable folder`;
  };
  return checkOnce(() => Object.fromEntries([...keys].map((key) => [key, hashOf(key)])));
};

/** Returns what identifies a file that cannot be read as a whole; null if it does not exist. */
const contentOf = (root: string, path: string, change: Planning): Buffer | string | null => {
  const file = resolve(root, path);
  try {
    // Commands follow links, even below `.spool`.
    const bytes = isPlanning(change, path) ? readInside(root, path) : readRegular(anyPath(file), { limit: maxText });
    return bytes ?? identityOf(file, 'size');
  } catch (error) {
    return isMissing(error) ? null : identityOf(file, (error as NodeJS.ErrnoException).code ?? '');
  }
};

/** A file that became unreadable counts as changed, and one that always was if it was written to. */
const identityOf = (file: string, why: string): string | null => {
  try {
    const stats = statSync(anyPath(file), { throwIfNoEntry: false });
    if (stats === undefined) return null;
    return `${unreadable}${stats.isDirectory() ? 'a folder' : `${why} ${stampOf(stats)}`}`;
  } catch {
    return `${unreadable}${why}`;
  }
};

const unreadable = 'unreadable: ';

/** Returns a function that returns false if a folder between the root and a path cannot be listed. Checks each once. */
const createListCheck = (root: string): ((path: string) => boolean) => {
  const known = new Map<string, boolean>();
  const isListable = (folder: string): boolean => {
    try {
      accessSync(anyPath(join(root, folder)), constants.R_OK);
    } catch (error) {
      return isMissing(error);
    }
    return folder === '.' || canBeListed(folder);
  };
  const canBeListed = (path: string): boolean => {
    if (isAbsolute(path) || path.startsWith('..')) return true;
    const folder = dirname(path);
    const isKnown = known.get(folder) ?? isListable(folder);
    known.set(folder, isKnown);
    return isKnown;
  };
  return canBeListed;
};

export const isUnreadable = (hashOfKey: string): boolean => hashOfKey.startsWith(unreadable);

/** A path that may not be accessed exists. */
const pathExists = (path: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOTDIR';
  }
};

/** No script is longer. */
const maxRead = 1_000_000;

/** `onUnseen` is called with what cannot be looked at, although a command may be able to use it. */
export const filesAt = (root: string, onUnseen: (path: string, error: unknown) => void = () => {}): Files => ({
  read(path) {
    try {
      return readRegular(anyPath(resolve(root, path)), { length: maxRead })?.toString('utf8') ?? null;
    } catch {
      return null;
    }
  },
  isFile(path) {
    try {
      return statSync(anyPath(resolve(root, path)), { throwIfNoEntry: false })?.isFile() ?? false;
    } catch (error) {
      if (isUsable(path, error)) onUnseen(path, error);
      return false;
    }
  },
  list(folder) {
    try {
      return namesIn(resolve(root, folder));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EACCES' || isUsable(folder, error)) onUnseen(folder, error);
      return [];
    }
  },
});

/** Whether a path may be usable in several steps: relative to a folder, it is shorter and has fewer links. */
const isUsable = (path: string, error: unknown): boolean => {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ELOOP' || (code === 'ENAMETOOLONG' && path.split('/').every((name) => name.length <= maxName));
};

const maxName = 255;
