import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { changeFolder } from '../changes/changes.ts';
import { decidersOf } from './deciders/deciders.ts';
import { keyName, parseJson, partOf, splitKey } from './deciders/parts.ts';
import type { Files } from './deciders/scope.ts';
import { entriesOf, filesBelow, readOwn } from '../files/own.ts';
import { configFile, modulesFolder, type Project } from '../store/project.ts';
import { moduleOf } from '../changes/ids.ts';
import { moduleFolderName } from '../changes/modules.ts';
import { taskTitles } from '../changes/tasks.ts';
import { wordingOf } from '../changes/wording.ts';

/** Hashes by key (a path relative to the project, or a part of that file); null for what is not there. */
export type Hashes = Readonly<Record<string, string | null>>;

/** The goal of a change: all that says what is to be done, and what decides whether it is. */
export interface Goal {
  readonly tasksKey: string;
  /** The keys of all that is there now, and of what must not be added. */
  keys(): string[];
  /** Of these only what decides the commands. */
  isDecider(key: string): boolean;
  hashes(keys: Iterable<string>): Hashes;
  /** The hash of a key in a version of its file; null for one that is not there. */
  hashIn(key: string, bytes: Buffer | null): string | null;
  taskTitles(): string[];
  /** Short names of what is guarded. */
  names(): string[];
}

export interface GoalRequest {
  readonly project: Project;
  readonly change: string;
  /** The verify commands. */
  readonly commands: readonly string[];
}

export const openGoal = async ({ project, change, commands }: GoalRequest): Promise<Goal> => {
  const { root } = project;
  const folder = changeFolder(project, change);
  const moduleId = moduleOf(change);
  const moduleName = moduleId === null ? null : await moduleFolderName(project, moduleId);
  const keyOf = (path: string) => relative(root, path);
  const tasksKey = keyOf(join(folder, 'tasks.md'));
  const settings = keyOf(configFile(project));
  const files = filesAt(root);
  const specsFolder = join(folder, 'specs');
  const fixed = [join(folder, 'proposal.md'), join(folder, 'design.md'), join(folder, 'tasks.md')];
  if (moduleName !== null) fixed.push(join(modulesFolder(project), moduleName, 'module.md'));
  const fixedKeys = new Map(fixed.map((path) => [path, keyOf(path)]));
  const own = () => [
    ...fixed.filter(isThere).map((path) => fixedKeys.get(path)!),
    ...filesBelow(specsFolder).map((name) => keyOf(join(specsFolder, name))),
    settings,
  ];
  const isOwn = (key: string) => key.startsWith('.spool/') || key.startsWith('.spool\\');
  const hashIn = createHasher();
  const hashOf = (key: string) => hashOfFile(key, root, hashIn);
  const isGuarded = (command: string) => decidersOf([command], files).some((key) => hashOf(key) !== null);
  const titlesIn = createLast(taskTitles);
  const titles = () => titlesIn(files.read(tasksKey) ?? '');
  return {
    tasksKey,
    keys: () => [...new Set([...own(), ...decidersOf(commands, files)])],
    isDecider: (key) => !isOwn(key),
    hashes: (keys) => Object.fromEntries([...keys].map((key) => [key, hashOf(key)])),
    hashIn,
    taskTitles: titles,
    names() {
      const specs = own().filter((key) => key.startsWith(`${keyOf(specsFolder)}/`)).length;
      const tasks = titles().length;
      return [
        ...(isThere(fixed[0]!) ? ['proposal.md'] : []),
        ...(specs === 0 ? [] : [`${specs} ${specs === 1 ? 'file' : 'files'} in specs/`]),
        ...(tasks === 0 ? [] : [`${tasks} ${tasks === 1 ? 'task' : 'tasks'}`]),
        ...(isThere(fixed[1]!) ? ['design.md'] : []),
        ...(fixed[3] !== undefined && isThere(fixed[3]) ? ['module.md'] : []),
        ...(isThere(configFile(project)) ? ['config.json'] : []),
        ...decidersOf(commands, files)
          .filter((key) => hashOf(key) !== null)
          .map(keyName),
        ...commands.filter((command) => !isGuarded(command)).map((command) => `nothing of "${shorten(command)}"`),
      ];
    },
  };
};

/** A function of a text that is not called again for the text of the last call. */
const createLast = <Result>(read: (text: string) => Result): ((text: string) => Result) => {
  let last: { readonly text: string; readonly result: Result } | null = null;
  return (text) => (last?.text === text ? last : (last = { text, result: read(text) })).result;
};

/** What the keys of a project stand for now. */
export const hashesIn = (root: string, keys: Iterable<string>): Hashes =>
  Object.fromEntries([...keys].map((key) => [key, hashOfFile(key, root, createHasher())]));

const shorten = (command: string) => (command.length > 40 ? `${command.slice(0, 39)}…` : command);

/** The hash of what a key stands for, in a version of its file. */
export const hashOfVersion = (key: string, bytes: Buffer): string | null => {
  const { path, part } = splitKey(key);
  const text = bytes.toString('utf8');
  if (part !== null) return hash(partOf(text, part));
  if (!path.startsWith('.spool') || path.endsWith('tasks.md')) return hash(bytes);
  // Ticking a box, and what a formatter does, changes no goal.
  if (path.endsWith('.md')) return hash(wordingOf(text));
  const json = path.endsWith('.json') ? parseJson(text) : null;
  return json === null ? hash(bytes) : hash(JSON.stringify(json));
};

const hash = (content: string | Buffer | null): string | null =>
  content === null ? null : createHash('sha256').update(content).digest('hex');

/** A version that is the same as the last one is not hashed again. */
const createHasher = (): Goal['hashIn'] => {
  const known = new Map<string, { readonly bytes: Buffer; readonly hash: string | null }>();
  return (key, bytes) => {
    if (bytes === null) return null;
    const last = known.get(key);
    if (last?.bytes.equals(bytes)) return last.hash;
    const hash = hashOfVersion(key, bytes);
    if (bytes.length <= largest) known.set(key, { bytes, hash });
    return hash;
  };
};

/** The hash of what a key stands for now. */
const hashOfFile = (key: string, root: string, hashIn: Goal['hashIn']): string | null => {
  try {
    return hashIn(key, readOwn(resolve(root, splitKey(key).path)));
  } catch (error) {
    // What cannot be read is not what it was.
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : `unreadable: ${code}`;
  }
};

/** What may not be looked at is there as well. */
const isThere = (path: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOTDIR';
  }
};

/** Larger files are no scripts. */
const largest = 1_000_000;

export const filesAt = (root: string): Files => ({
  read(path) {
    try {
      const file = resolve(root, path);
      const stats = statSync(file);
      if (!stats.isFile()) return null;
      return stats.size > largest ? '' : (readOwn(file)?.toString('utf8') ?? null);
    } catch {
      return null;
    }
  },
  isFile(path) {
    try {
      return statSync(resolve(root, path)).isFile();
    } catch {
      return false;
    }
  },
  list(folder) {
    try {
      return entriesOf(resolve(root, folder)).map(({ name }) => name);
    } catch {
      return [];
    }
  },
});
