import { posix } from 'node:path';
import { matches } from '../../text/wildcard.ts';

export interface Roots {
  /** The folder in which the agent works, with all links resolved. */
  readonly root: string;
  readonly home: string | null;
}

interface MatchOptions {
  /** A deny rule also counts for names that differ only in case: many file systems treat them as the same. */
  readonly ignoreCase: boolean;
}

/**
 * Returns whether a pattern matches an absolute path, as in .gitignore: without a slash at any depth of the project,
 * otherwise from its top. A folder that matches stands for all that is in it.
 */
export const pathMatches = (pattern: string, path: string, options: Roots & MatchOptions): boolean => {
  const placed = place(pattern, path, options);
  return placed?.below != null && segmentsMatch(placed.wanted, namesOf(placed.below));
};

/** Returns whether something in a folder may match, regardless of what is in it now. Takes what `pathMatches` takes. */
export const mayMatchIn = (pattern: string, path: string, options: Roots & MatchOptions): boolean => {
  const placed = place(pattern, path, options);
  if (placed === null) return false;
  const { isAbove, below, wanted } = placed;
  if (isAbove) return true;
  if (below === null) return false;
  return namesOf(below)
    .reduce((state, name) => afterName(wanted, state, name), startOf(wanted))
    .includes(1);
};

/** Returns where a path is relative to the folder in which a pattern begins; null if there is no such folder. */
const place = (pattern: string, path: string, { root, home, ignoreCase }: Roots & MatchOptions) => {
  const normal = normalizer(ignoreCase);
  const { base, rest } = anchored(pattern, home);
  const folder = base === 'project' ? root : base;
  if (folder === null) return null;
  return {
    isAbove: isBelow(normal(folder), normal(path)),
    below: relativeTo(normal(folder), normal(path)),
    wanted: wantedOf(normal(rest)),
  };
};

/** Returns whether a path is the folder or in it. */
export const isBelow = (path: string, folder: string): boolean => relativeTo(folder, path) !== null;

const relativeTo = (folder: string, path: string): string | null => {
  if (path === folder) return '';
  const prefix = folder.endsWith('/') ? folder : `${folder}/`;
  return path.startsWith(prefix) ? path.slice(prefix.length) : null;
};

const anchored = (pattern: string, home: string | null): { base: 'project' | (string & {}) | null; rest: string } => {
  if (pattern.startsWith('//')) return { base: '/', rest: trimmed(pattern.slice(2)) };
  if (pattern === '~' || pattern.startsWith('~/')) return { base: home, rest: trimmed(pattern.slice(2)) };
  if (pattern.startsWith('./')) return { base: 'project', rest: trimmed(pattern.slice(2)) };
  const rest = trimmed(pattern);
  return { base: 'project', rest: rest.includes('/') || rest === '' ? rest : `**/${rest}` };
};

/** Without a slash at the end, and without doubled ones. */
const trimmed = (pattern: string): string => posix.join('/', pattern).slice(1).replace(/\/$/, '');

const normalizer = (ignoreCase: boolean) => (text: string) => (ignoreCase ? text.toLowerCase() : text).normalize('NFC');

const wantedOf = (pattern: string): string[] => pattern.split('/').filter((each) => each !== '');

const namesOf = (path: string): string[] => (path === '' ? [] : path.split('/'));

/** `**` stands for any number of folders. The end of the pattern also matches all that is below. */
const segmentsMatch = (wanted: readonly string[], names: readonly string[]): boolean => {
  const last = wanted.length - 1;
  // "src/**" is what is below src, not src itself.
  const needsMore = last > 0 && wanted[last] === '**';
  let state = startOf(wanted);
  for (const name of [...names, null]) {
    if (needsMore ? name !== null && state[last] : state[wanted.length]) return true;
    if (name === null) return false;
    state = afterName(wanted, state, name);
  }
  return false;
};

/** For each number of patterns: 1 if they match the names so far. */
type State = Uint8Array;

const startOf = (wanted: readonly string[]): State => {
  const state = new Uint8Array(wanted.length + 1);
  state[0] = 1;
  return withFolders(wanted, state);
};

const afterName = (wanted: readonly string[], state: State, name: string): State => {
  const next = new Uint8Array(wanted.length + 1);
  for (const [index, pattern] of wanted.entries()) {
    if (!state[index]) continue;
    if (pattern === '**') next[index] = 1;
    else if (matches(pattern, name)) next[index + 1] = 1;
  }
  return withFolders(wanted, next);
};

/** `**` also stands for no folder. */
const withFolders = (wanted: readonly string[], state: State): State => {
  for (const [index, pattern] of wanted.entries()) if (pattern === '**' && state[index]) state[index + 1] = 1;
  return state;
};
