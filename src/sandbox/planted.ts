import { randomBytes } from 'node:crypto';
import { lstatSync, renameSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { systemProblem } from '../errors.ts';
import { isMissing } from '../files/checks.ts';
import { isSameFile } from '../files/stamp.ts';
import { isWithin } from '../process/which.ts';
import { commandLine } from '../text/shell-words.ts';
import { grantReach, withGrants } from './folder-modes.ts';

/** Identifies files by path, to detect replaced ones later. */
export const identitiesOf = (paths: readonly string[]): ReadonlyMap<string, Stats> =>
  new Map(
    paths.flatMap((path) => {
      const stats = statOf(path);
      return stats?.isFile() ? [[path, stats] as const] : [];
    }),
  );

/**
 * Returns a line for each replaced file. A file that a process outside replaces is writable in the sandbox from then
 * on.
 */
export const replacedSince = (before: ReadonlyMap<string, Stats>): string[] =>
  [...before]
    .filter(([path, stats]) => !isSameFile(statOf(path), stats))
    .map(
      ([path]) =>
        `${path} was replaced while a command ran in the sandbox, which could write to it from then on: check its contents.`,
    );

/** Returns the paths that exist, including dangling links. */
export const existing = (paths: readonly string[]): string[] => paths.filter(isThere);

/** A path that does not exist, and its parent folders that a process in the sandbox could replace with a link. */
export interface AbsentPath {
  readonly path: string;
  /** Parent folders, outermost first, except existing links. */
  readonly way: readonly string[];
}

export const absentPath = (path: string, writable: readonly string[]): AbsentPath => {
  const way = writable
    .filter((folder) => folder !== path && isWithin(path, folder))
    .map((folder) => foldersBetween(folder, path))
    .toSorted((one, other) => other.length - one.length)[0];
  return { path, way: (way ?? []).filter((folder) => !isLink(folder)) };
};

/** Returns the folders below `folder` and above `path`. */
const foldersBetween = (folder: string, path: string): string[] => {
  const parent = dirname(path);
  return parent === folder || parent === path ? [] : [...foldersBetween(folder, parent), parent];
};

export interface Quarantined {
  /** A line for each path that was moved away. */
  readonly moved: readonly string[];
  /** Paths that must not be used, because they could not be moved away. */
  readonly left: readonly { readonly path: string; readonly why: string }[];
}

/** Moves away protected paths that were created in the sandbox. */
export const quarantinePlanted = (absent: readonly AbsentPath[]): Quarantined => {
  const moved: string[] = [];
  const left: { path: string; why: string }[] = [];
  for (const each of absent) {
    try {
      const line = quarantine(each);
      if (line !== null) moved.push(line);
    } catch (error) {
      left.push({ path: each.path, why: systemProblem(error) });
    }
  }
  return { moved, left };
};

/** Returns null if nothing was created. */
const quarantine = ({ path, way }: AbsentPath): string | null => {
  // What is behind a link is not in the sandbox: the link itself was planted.
  const planted = way.find(isLink) ?? path;
  if (!isThere(planted)) return null;
  const quarantined = `${planted}.from-sandbox-${randomBytes(4).toString('hex')}`;
  rename(planted, quarantined);
  const back = commandLine('mv', quarantined, planted);
  return `The sandbox protects ${path}: what was created there is now ${quarantined}. If it is your own: ${back}`;
};

/** Works even if permissions of folders were removed. */
const rename = (from: string, to: string): void =>
  withGrants((grant) => {
    grantReach(from, grant);
    grant(dirname(from), 0o300);
    renameSync(from, to);
  });

const isLink = (path: string): boolean => statOf(path)?.isSymbolicLink() ?? false;

const isThere = (path: string): boolean => statOf(path) !== null;

/** Returns null if nothing exists. Finds paths in folders without permissions too. */
const statOf = (path: string): Stats | null => {
  try {
    return lstatSync(path);
  } catch (error) {
    if (isMissing(error) || unreachable.has((error as NodeJS.ErrnoException).code ?? '')) return null;
    return withGrants((grant) => {
      grantReach(path, grant);
      return lstatSync(path, { throwIfNoEntry: false }) ?? null;
    });
  }
};

/** Errors about a path that no other process can open either. */
const unreachable = new Set(['ELOOP', 'ENAMETOOLONG']);
