import { isAbsolute, join, posix } from 'node:path';
import { homeOf } from '../../files/home.ts';
import { currentScope } from '../../process/scope.ts';
import { isObject } from '../../text/shape.ts';
import { asObject, listAt, textAt } from '../json.ts';

export interface NamedPaths {
  /** Absolute, with links and `..` as they are written. */
  readonly paths: readonly string[];
  /** Why there may be more; null if these are all. */
  readonly unclear: string | null;
}

/** Keys of a folder in which a tool works. Relative paths of its input are relative to it. */
export const workFolderKeys: readonly string[] = [
  'cwd',
  'workdir',
  'workDir',
  'work_dir',
  'working_dir',
  'workingDir',
  'working_directory',
  'workingDirectory',
];

/**
 * Returns all paths that tool calls and their inputs name, at any depth: as values, as keys, in patches, and those to
 * which the pattern of a search leads.
 */
export const namedPaths = (
  calls: readonly unknown[],
  { root, isSearch }: { readonly root: string; readonly isSearch: boolean },
): NamedPaths => {
  const found: Found = { texts: [], unclear: null };
  for (const call of calls) {
    for (const each of [...listAt(call, 'locations'), ...listAt(call, 'content')]) {
      const path = textAt(each, 'path');
      if (path !== null && path !== '') found.texts.push({ path, folders: [root] });
    }
    const input = asObject(call)?.rawInput;
    const folders = workFoldersOf(input, [root], found);
    const before = found.texts.length;
    collect(input, { key: '', depth: 0, folders: [root] }, found);
    if (!isSearch) continue;
    const named = found.texts.slice(before);
    // Some tools that read take patterns as paths.
    for (const { path, folders: from } of named.filter((each) => each.path.includes('*')))
      found.texts.push({ path: path.slice(0, path.lastIndexOf('/', path.indexOf('*')) + 1) || '.', folders: from });
    const searched = named.flatMap(({ path }) => resolved(path, folders, found));
    collectPatterns(input, searched.length === 0 ? folders : searched, found);
  }
  const paths = found.texts.flatMap(({ path, folders }) => resolved(path, folders, found));
  return { paths: [...new Set(paths)], unclear: found.unclear };
};

interface Found {
  readonly texts: { readonly path: string; readonly folders: readonly string[] }[];
  unclear: string | null;
}

interface Place {
  readonly key: string;
  readonly depth: number;
  readonly folders: readonly string[];
}

const maxDepth = 20;

const pathKey =
  /path|^file|file$|files$|file_?names?$|^dir|dir$|directory|folder|^(?:source|src|destination|dest|dst|target|to|from)$|^(?:new|old|source|target|dest)_?name$|uris?$/i;

/** Keys for the text of a file, and for its type or size. */
const contentKey = /^file_?(?:texts?|contents?|type|mode|size|encoding)$/i;

const patchKey = /patch|diff|^input$/i;

/** Keys of an object that has paths as its keys. */
const mapKey = /changes$|files$|paths$/i;

const collect = (value: unknown, { key, depth, folders }: Place, found: Found): void => {
  if (depth > maxDepth) {
    found.unclear ??= 'its input is nested too deeply';
    return;
  }
  if (typeof value === 'string') {
    const isOtherAddress = /uris?$/i.test(key) && /^(?!file:)[a-z][\w+.-]+:/i.test(value);
    if (value !== '' && ((isPathKey(key) && !isOtherAddress) || /^file:/i.test(value)))
      found.texts.push({ path: value, folders });
    if (patchKey.test(key) || value.includes('*** Begin Patch')) collectPatch(value, folders, found);
    return;
  }
  if (Array.isArray(value)) {
    for (const each of value) collect(each, { key: isObject(each) ? '' : key, depth: depth + 1, folders }, found);
    return;
  }
  const own = workFoldersOf(value, folders, found);
  const entries = Object.entries(asObject(value) ?? {});
  const isMap = mapKey.test(key);
  for (const [name, inner] of entries) {
    if (isMap || /^file:|[/\0]/i.test(name)) found.texts.push({ path: name, folders: own });
    collect(inner, { key: name, depth: depth + 1, folders: own }, found);
  }
};

/** Returns the folders around if the input names none of its own. */
const workFoldersOf = (input: unknown, around: readonly string[], found: Found): readonly string[] => {
  const given = workFolderKeys.map((key) => textAt(input, key) ?? '').filter((each) => each !== '');
  return given.length === 0 ? around : given.flatMap((each) => resolved(each, around, found));
};

const isPathKey = (key: string): boolean => pathKey.test(key) && !contentKey.test(key) && !workFolderKeys.includes(key);

const patchLine =
  /^(?:\*\*\* (?:(?:add|update|delete) file|move to|rename to): ?|(?:---|\+\+\+) |(?:rename|copy) (?:from|to) |index: ?)(.+)$/i;

const collectPatch = (text: string, folders: readonly string[], found: Found): void => {
  for (const line of text.split(/\r?\n/)) {
    const [, named] = patchLine.exec(line.trim()) ?? [];
    if (named === undefined) continue;
    const path = named.split('\t', 1)[0]!.trim();
    if (path === '/dev/null') continue;
    // Git writes names with other characters in quotes, with escapes.
    if (path.startsWith('"')) found.unclear ??= 'a name in its patch is in quotes';
    const isGit = /^(?:---|\+\+\+)/.test(line.trim());
    found.texts.push({ path: isGit ? path.replace(/^[ab]\//, '') : path, folders });
  }
};

const patternKey = /^(?:pattern|glob|include|exclude|.*patterns?|globs|includes|.*glob)$/i;

/** A pattern that is absolute, or has "..", leads to another folder than the one that is searched. */
const collectPatterns = (input: unknown, folders: readonly string[], found: Found): void => {
  for (const [key, value] of Object.entries(asObject(input) ?? {})) {
    if (!patternKey.test(key)) continue;
    for (const pattern of Array.isArray(value) ? value : [value]) {
      if (typeof pattern !== 'string') continue;
      const plain = pattern.replaceAll('\\', '');
      const [start = ''] = plain.split(/[*?[\]{}()!+@|]/);
      const rest = plain.slice(start.length);
      if (/(?:^|[/{},|(])\.\.(?:$|[/{},|)])/.test(rest) || hasAbsoluteChoice(plain))
        found.unclear ??= 'its pattern leads to other folders';
      const leadsOut = /^(?:\/|~\/|file:)|(?:^|\/)\.\.(?:\/|$)/i.test(start);
      if (leadsOut) found.texts.push({ path: start, folders });
    }
  }
};

/** Whether a pattern begins with a choice such as `{src,/etc}`. */
const hasAbsoluteChoice = (pattern: string): boolean => {
  const choices = pattern.startsWith('{') ? pattern.slice(1, Math.max(1, pattern.indexOf('}'))) : '';
  return choices.split(',').some((each) => /^[/~]/.test(each));
};

/** Returns a path as it is written and, if it is an address, also without its escapes: agents differ. */
const resolved = (path: string, folders: readonly string[], found: Found): string[] => {
  const spellings = spellingsOf(path);
  if (spellings.some((each) => each === null || each.includes('\0'))) {
    found.unclear ??= 'it names a file that is not understood';
    return [];
  }
  return spellings.flatMap((each) => folders.map((folder) => absoluteOf(each!, folder)));
};

const spellingsOf = (path: string): (string | null)[] => {
  const [, host, rest] = /^file:(?:\/\/([^/]*))?(\/.*)$/is.exec(path) ?? [];
  if (rest === undefined) return /^file:/i.test(path) ? [null] : [path];
  if (host && host.toLowerCase() !== 'localhost') return [null];
  try {
    return [...new Set([rest, decodeURIComponent(rest)])];
  } catch {
    return [null];
  }
};

/** Not normalised: ".." after a link leads out of its target. */
export const absoluteOf = (path: string, folder: string): string => {
  if (path === '~' || path.startsWith('~/')) return join(homeOf(currentScope().env), path.slice(1));
  return isAbsolute(path) ? path : posix.join(folder, '/').concat(path);
};
