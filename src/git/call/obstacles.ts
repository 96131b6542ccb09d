import { statSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { type ByteEntry, byteEntries, displayPath, latin1Path, pathBytes } from '../../files/bytes.ts';
import { fileId } from '../../files/stamp.ts';
import { isMissing } from '../../files/checks.ts';
import { maxText } from '../../files/safe.ts';
import { homeOf } from '../../files/home.ts';
import { readRegular } from '../../files/regular.ts';
import { currentScope } from '../../process/scope.ts';
import { placeholderIn } from './expand-path.ts';

/*
 * git reads some files regardless of their type and size: it blocks forever if one of them is a named pipe, and needs
 * endless memory for a device such as /dev/zero. All paths are in latin1, which preserves the bytes of names that are
 * not UTF-8.
 */

/** What blocks git: a file, or a folder of the user that git can use but that cannot be searched for one. */
export interface Obstacle {
  readonly kind: 'pipe' | 'device' | 'huge' | 'unreadable';
  readonly path: string;
}

export const isStillThere = ({ kind, path }: Obstacle): boolean =>
  kind === 'unreadable' ? listOf(path) === null : kindOf(path) === kind;

/** Searches the git folder of a work tree, and everything that it leads git to. */
export const searchGitFolder = async (top: string, signal: AbortSignal): Promise<Obstacle | null> =>
  namedBySettings(top) ?? search(gitDirs(join(top, '.git')), { signal, unreadable: [] });

/** Searches the work tree as well, with its nested repositories. Prefers a file to a folder that cannot be searched. */
export const searchWorkTree = async (top: string, signal: AbortSignal): Promise<Obstacle | null> => {
  const walk: Walk = { signal, unreadable: [] };
  const start = [...gitDirs(join(top, '.git')), { folder: top, inGit: false }];
  const found = namedBySettings(top) ?? (await search(start, walk));
  const [path] = walk.unreadable;
  return found ?? (path === undefined ? null : { kind: 'unreadable', path });
};

interface Walk {
  readonly signal: AbortSignal;
  /** Folders that git can use but that cannot be searched. */
  readonly unreadable: string[];
}

interface Visit {
  readonly folder: string;
  /** Inside a git folder, git may read any file. */
  readonly inGit: boolean;
}

/** Breadth first: a link may lead to a large folder. */
const search = async (start: readonly Visit[], walk: Walk): Promise<Obstacle | null> => {
  const waiting = [...start];
  const seen = new Set<string>();
  for (const visit of waiting) {
    const identity = identityOf(visit);
    if (seen.has(identity)) continue;
    seen.add(identity);
    // Lets other work of the process run.
    await setImmediate();
    if (walk.signal.aborted) return null;
    const { found, more } = look(visit, walk);
    if (found !== null) return found;
    for (const each of more) waiting.push(each);
  }
  return null;
};

const identityOf = ({ folder, inGit }: Visit): string => {
  const stats = statOf(folder);
  return stats === null ? folder : `${fileId(stats)} ${inGit}`;
};

/** Names that git reads in every folder of a work tree, or at the top. */
const readByGit = ['.gitignore', '.gitattributes', '.gitmodules', '.mailmap'];

const look = ({ folder, inGit }: Visit, { unreadable }: Walk): { found: Obstacle | null; more: Visit[] } => {
  const entries = listOf(folder);
  if (entries === null) {
    unreadable.push(folder);
    return { found: firstObstacle(readByGit.map((name) => join(folder, name))), more: [] };
  }
  const suspicious = entries.filter(({ name, path, kind }) =>
    inGit ? kind !== 'file' || isReadWhole(path) : readByGit.includes(name) && kind !== 'file',
  );
  const found = firstObstacle(suspicious.filter(({ kind }) => kind !== 'folder').map(({ path }) => path));
  return { found, more: entries.flatMap((entry) => (inGit ? leadsTo(entry) : below(entry))) };
};

const firstObstacle = (paths: readonly string[]): Obstacle | null => {
  for (const path of paths) {
    const kind = kindOf(path);
    if (kind !== null) return { kind, path };
  }
  return null;
};

/** git follows links in its own folder. */
const leadsTo = ({ name, path, kind }: ByteEntry): Visit[] => {
  if (kind === 'folder' || (kind === 'link' && isFolder(path))) return [{ folder: path, inGit: true }];
  if (name === 'alternates') return alternatesIn(path).map((folder) => ({ folder, inGit: true }));
  return name === 'commondir' ? sharedFolder(dirname(path)) : [];
};

/** git follows no links in a work tree, except to the git folder of a nested repository. */
const below = ({ name, path, kind }: ByteEntry): Visit[] => {
  if (name === '.git') return gitDirs(path);
  return kind === 'folder' ? [{ folder: path, inGit: false }] : [];
};

/** Returns the folder that a `.git` is or leads to, and the one that it shares with other work trees. */
const gitDirs = (dotGit: string): Visit[] => {
  const folder = isFolder(dotGit) ? dotGit : gitDirNamedIn(dotGit);
  return folder === null ? [] : [{ folder, inGit: true }, ...sharedFolder(folder)];
};

const sharedFolder = (folder: string): Visit[] => {
  const shared = commonFolder(folder);
  return shared === null ? [] : [{ folder: shared, inGit: true }];
};

/** Returns the folder that a `.git` file names; null if it is none. */
export const gitDirNamedIn = (dotGit: string): string | null => {
  const named = /^gitdir: (.*)$/m.exec(textOf(dotGit))?.[1];
  return named === undefined ? null : resolve(dirname(dotGit), named);
};

/** Returns the folder that a git folder shares with other work trees; null if there is none. */
export const commonFolder = (folder: string): string | null => {
  const shared = textOf(join(folder, 'commondir')).trim();
  return shared === '' ? null : resolve(folder, shared);
};

/** Returns the folders elsewhere in which git looks for objects. */
const alternatesIn = (file: string): string[] =>
  textOf(file)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .slice(0, maxFiles)
    .map((line) => resolve(dirname(dirname(file)), line.startsWith('"') ? unquote(line) : line));

/** Of names and settings that are quoted like in C. */
const unquote = (text: string): string =>
  text
    .replace(/^"/, '')
    .replace(/"[^"]*$/, '')
    .replaceAll(/\\(?:([0-3][0-7]{2})|(.))/gs, (_, octal: string | undefined, letter: string | undefined) =>
      octal === undefined ? (escapes[letter!] ?? letter!) : String.fromCharCode(Number.parseInt(octal, 8)),
    );

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '\n': '' };

/**
 * Returns an obstacle that is the value of any setting: git reads the files that several settings name (include.path,
 * core.excludesFile, …). Nothing that blocks is read for that.
 */
const namedBySettings = (top: string): Obstacle | null => {
  const { env } = currentScope();
  const { XDG_CONFIG_HOME = join(homeOf(env), '.config') } = env;
  const [home, config] = [latin1Path(homeOf(env)), latin1Path(XDG_CONFIG_HOME)];
  const folders = [join(top, '.git'), ...gitDirs(join(top, '.git')).map(({ folder }) => folder)];
  const own = folders.flatMap((folder) => [join(folder, 'config'), join(folder, 'config.worktree')]);
  const waiting = new Set([...own, join(home, '.gitconfig'), join(config, 'git', 'config'), '/etc/gitconfig']);
  for (const file of waiting) {
    if (waiting.size > maxFiles) return null;
    for (const { key, value } of settingsIn(textOf(file))) {
      const start = placeholderIn(value, displayPath(top));
      const paths =
        start === null
          ? [dirname(file), top].map((folder) => resolve(folder, value))
          : [join(latin1Path(start.folder), start.rest)];
      const found = firstObstacle(paths);
      if (found !== null) return found;
      if (key === 'path') for (const each of paths) waiting.add(each);
    }
  }
  return null;
};

const maxFiles = 200;

/** A section header may have its first setting on the same line. */
const settingsIn = (text: string): { readonly key: string; readonly value: string }[] =>
  text
    .replaceAll('\\\n', '')
    .split('\n')
    .flatMap((line) => {
      const end = line.indexOf('=');
      if (end === -1) return [];
      const key = line.slice(line.lastIndexOf(']', end) + 1, end).trim();
      return [{ key: key.toLowerCase(), value: valueOf(line.slice(end + 1).trim()) }];
    });

/** Quotes may begin anywhere in a value, and a comment ends it. */
const valueOf = (text: string): string => {
  const parts: string[] = [];
  for (const [part] of text.matchAll(/"(?:[^"\\]|\\.)*"?|\\.|[^"\\]/gs)) {
    if (part === '#' || part === ';') break;
    parts.push(part.startsWith('"') || part.startsWith('\\') ? unquote(part) : part);
  }
  return parts.join('').trim();
};

const textOf = (file: string): string => {
  try {
    return readRegular(pathBytes(file), { limit: maxText })?.toString('latin1') ?? '';
  } catch {
    return '';
  }
};

/**
 * Returns the entries of a folder; null if its owner, the current user, may open files in it but not list them. No file
 * in another unreadable folder can block git, unless another user has put it there.
 */
const listOf = (folder: string): readonly ByteEntry[] | null => {
  try {
    return byteEntries(folder);
  } catch (error) {
    return !isMissing(error) && isEntered(folder) ? null : [];
  }
};

const isEntered = (folder: string): boolean => {
  const stats = statOf(folder);
  return stats?.uid === process.getuid?.() && ((stats?.mode ?? 0) & 0o100) !== 0;
};

const isFolder = (path: string): boolean => statOf(path)?.isDirectory() ?? false;

/** Small files that git reads into memory as a whole. */
const isReadWhole = (path: string): boolean =>
  /\/(?:[A-Z_]*HEAD|commondir|gitdir|alternates)$|\/refs\//.test(path) && !path.includes('/logs/');

const kindOf = (path: string): Exclude<Obstacle['kind'], 'unreadable'> | null => {
  const stats = statOf(path);
  if (stats === null) return null;
  if (stats.isFIFO()) return 'pipe';
  if (stats.isCharacterDevice() || stats.isBlockDevice()) return isNullDevice(stats) ? null : 'device';
  return stats.isFile() && stats.size > maxText && isReadWhole(path) ? 'huge' : null;
};

const isNullDevice = ({ rdev }: Stats): boolean => rdev === statOf('/dev/null')?.rdev;

/** Follows links. Returns null if nothing is there. */
const statOf = (path: string): Stats | null => {
  try {
    return statSync(pathBytes(path), { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
};
