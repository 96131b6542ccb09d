import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { changeFolder } from './changes.ts';
import { readIfThere } from './files.ts';
import { configFile, type Project } from './find.ts';
import { missingTasks, parseTasks } from './tasks.ts';

export interface GuardRequest {
  readonly project: Project;
  readonly change: string;
  /** What they name are files that the agent must leave alone. */
  readonly commands: readonly string[];
  /** Where it is kept, so that it outlives this process. */
  readonly file: string;
}

/**
 * Sees when an agent moves the goal instead of reaching it: tasks deleted or reworded, the proposal, the settings or
 * the files that a gate command names changed. What a person changes between two iterations is as it should be.
 */
export interface Guard {
  /** Called before an agent starts. */
  before(): void;
  /** Called when it has ended: a sentence for everything that is not as it should be. */
  after(): string[];
}

/** Hashes by path, relative to the project; null for a file that is not there. */
type Hashes = Readonly<Record<string, string | null>>;

interface Memory {
  readonly v: 1;
  /** An agent is at work, or was when its Spool was killed: what has changed since may be its doing. */
  readonly working: boolean;
  readonly expected: Hashes;
  readonly seen: Hashes;
  readonly expectedTasks: readonly string[];
}

export const openGuard = async ({ project, change, commands, file }: GuardRequest): Promise<Guard> => {
  const folder = changeFolder(project, change);
  const tasksFile = relative(project.root, join(folder, 'tasks.md'));
  const settings = relative(project.root, configFile(project));
  const paths = [
    ...new Set([
      tasksFile,
      relative(project.root, join(folder, 'proposal.md')),
      settings,
      ...commands.flatMap((command) => namedFiles(project.root, command)),
    ]),
  ];

  const look = (): Hashes => Object.fromEntries(paths.map((path) => [path, hashOf(join(project.root, path))]));
  const readTitles = () => parseTasks(textOf(join(project.root, tasksFile))).map(({ title }) => title);
  const keep = (next: Memory) => {
    memory = next;
    overwrite(file, Buffer.from(JSON.stringify(next)));
  };

  let memory = await load(file);

  return {
    before() {
      const now = look();
      const agentWasAtWork = memory?.working ?? false;
      const isPersons = (path: string) =>
        !memory || (!agentWasAtWork && memory.seen[path] !== now[path]) || !(path in memory.seen);
      const expected = Object.fromEntries(
        paths.map((path) => [path, isPersons(path) ? now[path]! : memory!.expected[path]!]),
      );
      const expectedTasks = isPersons(tasksFile) ? readTitles() : memory!.expectedTasks;
      keep({ v: 1, working: true, expected, seen: now, expectedTasks });
    },
    after() {
      if (!memory) return [];
      const now = look();
      const { expected, expectedTasks } = memory;
      keep({ ...memory, working: false, seen: now });
      const changed = paths
        .filter(
          (path) =>
            path !== tasksFile && (expected[path] !== null || path === settings) && now[path] !== expected[path],
        )
        .map((path) => `${path} was ${now[path] === null ? 'deleted' : 'changed'} by the agent`);
      const missing = missingTasks(expectedTasks, readTitles());
      return [...changed, ...missing.map((title) => `the task "${title}" was deleted or reworded instead of ticked`)];
    },
  };
};

/**
 * The files that a command names: from the root, and from every folder that it names as well (`cd tests && sh run.sh`).
 * Relative to the root; those elsewhere come with `../`.
 */
const namedFiles = (root: string, command: string): string[] => {
  const words = [
    ...command.replaceAll(/\$\{?PWD\}?/g, '.').matchAll(/"([^"]*)"|'([^']*)'|\$\{\w+:?[-=]([^}]*)\}|[^\s;&|()<>=]+/g),
  ];
  const paths = words.map(([whole, ...inner]) => inner.find((text) => text !== undefined) ?? whole).filter(Boolean);
  const folders = [root, ...paths.map((path) => resolve(root, path)).filter(isFolder)];
  const files = folders.flatMap((folder) => paths.flatMap((path) => expand(resolve(folder, path)))).filter(isFile);
  return [...new Set(files.map((file) => relative(root, file)))];
};

/** A `*` in the last part of a path stands for all that fits. */
const expand = (path: string): string[] => {
  const name = basename(path);
  if (!/[*?]/.test(name)) return [path];
  const fits = new RegExp(
    `^${name
      .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  );
  return isFolder(dirname(path))
    ? readdirSync(dirname(path))
        .filter((entry) => fits.test(entry))
        .map((entry) => join(dirname(path), entry))
    : [];
};

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/**
 * In place, twice in each iteration: a new file takes five times as long, and only the owner of the lock reads this one.
 * Blanks cover what a longer text before has left, so that there is no moment in which the rest of it is still there.
 */
const overwrite = (file: string, bytes: Buffer): void => {
  const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    const blanks = Math.max(0, fstatSync(descriptor).size - bytes.length);
    writeFileSync(descriptor, Buffer.concat([bytes, Buffer.alloc(blanks, ' ')]));
  } finally {
    closeSync(descriptor);
  }
};

/** What cannot be read is not what it was. */
const hashOf = (path: string): string | null => {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? null : `unreadable: ${code}`;
  }
};

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

const load = async (file: string): Promise<Memory | null> => {
  try {
    const memory = JSON.parse((await readIfThere(file)) ?? 'null') as Memory | null;
    const whole = [memory?.expected, memory?.seen].every((part) => part && typeof part === 'object');
    return memory?.v === 1 && whole && Array.isArray(memory.expectedTasks) ? memory : null;
  } catch {
    return null;
  }
};
