import { symlinkSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { systemProblem, type UserError, userError } from '../errors.ts';
import { displayPath, latin1Path, pathBytes } from '../files/bytes.ts';
import { guardGit } from '../git/call/guards.ts';
import { currentGitScope } from '../git/call/scope.ts';
import { isWithin, realPath } from '../process/which.ts';
import { findLinks, type FoundLinks, type LinkArea } from './links.ts';
import { type Grant, grantReach, withGrants } from './folder-modes.ts';

/*
 * git writes through symbolic links in its folders: one planted in the sandbox would lead Spool's git out of the
 * project.
 */

/** The links that existed before anything ran in the sandbox: targets by path, in latin1. */
export interface KnownLinks {
  readonly area: LinkArea;
  readonly links: ReadonlyMap<string, string>;
}

/** A link that was created or changed in the sandbox. Paths are for display. */
export interface PlantedLink {
  readonly path: string;
  readonly target: string;
  /** The target before; null for a new link. */
  readonly before: string | null;
  /** Why it is still there; null if it was removed, or leads to its old target again. */
  readonly problem: string | null;
}

export interface RemovedLinks {
  readonly planted: readonly PlantedLink[];
  /** What could not be searched, with the reason. */
  readonly unsearched: readonly (readonly [string, string])[];
}

export interface LinkWatch {
  /** null without git. */
  readonly known: KnownLinks | null;
  /**
   * Removes new links and restores changed ones. If there are any, git is no longer run outside of the sandbox, and the
   * error that ends the run is returned.
   */
  refuseNew(): RefusedLinks | null;
}

interface RefusedLinks {
  readonly error: UserError;
  /** Whether nothing is left of them. */
  readonly areGone: boolean;
}

/** `gitDirs` are those of `WorkTreePaths`, `writable` are all folders that processes in the sandbox can write to. */
export const watchLinks = (gitDirs: readonly string[], writable: readonly string[]): LinkWatch => {
  if (gitDirs.length === 0) return { known: null, refuseNew: () => null };
  const known = knownLinks(areaOf(gitDirs, writable));
  return {
    known,
    refuseNew: () => {
      const removed = removeNewLinks(known, (why) => guardGit(() => Promise.resolve(why)));
      const error = errorOf(removed);
      return error && { error, areGone: areAllRemoved(removed) };
    },
  };
};

const areaOf = (gitDirs: readonly string[], writable: readonly string[]): LinkArea => {
  const real = (paths: readonly string[]) => [...new Set(paths.map((path) => latin1Path(realPath(path))))];
  const folders = real(gitDirs);
  const objects = folders.slice(1).find((folder) => basename(folder) === 'objects') ?? join(folders[0]!, 'objects');
  return { folders, objects, writable: real([...gitDirs, ...writable]) };
};

/**
 * Searches folders on the first call only: another run of the same batch may be in the sandbox later. Throws if there
 * may be unknown links.
 */
const knownLinks = (area: LinkArea): KnownLinks => {
  const { searched, found: foundBefore } = currentGitScope().linksBefore;
  const isSearched = (path: string) => [...searched].some((folder) => isWithin(path, folder));
  const folders = area.folders.filter((folder) => !isSearched(folder));
  const { links, unsearched } = searchArea({ ...area, folders }, (found) => found);
  const [first] = unsearched;
  if (first !== undefined) throw userError('unsearched-git', shownPath(first[0]), first[1]);
  for (const [path, target] of links) if (!isSearched(path)) foundBefore.set(path, target);
  for (const folder of folders) searched.add(folder);
  return { area, links: foundBefore };
};

/** Calls `beforeRemoval` with a reason if there are new or changed links, or folders that cannot be searched. */
export const removeNewLinks = ({ area, links }: KnownLinks, beforeRemoval: (why: string) => void): RemovedLinks =>
  searchArea(area, (found, grant) => {
    const planted = [...found.links].filter(([path, target]) => links.get(path) !== target);
    const unsearched = [...found.unsearched].map(([path, why]) => [shownPath(path), why] as const);
    const [first, cannot] = [planted[0], unsearched[0]];
    if (first !== undefined) beforeRemoval(`${displayPath(first[0])} was a link created in the sandbox`);
    else if (cannot !== undefined) beforeRemoval(`${cannot[0]} cannot be searched for links (${cannot[1]})`);
    return {
      planted: planted.map(([path, target]) => remove({ path, target, before: links.get(path) ?? null }, grant)),
      unsearched,
    };
  });

/** A path that is too long to be opened is shortened in messages. */
const shownPath = (path: string): string =>
  path.length > maxShown ? `${displayPath(path.slice(0, path.lastIndexOf('/', maxShown) + 1))}…` : displayPath(path);

const maxShown = 300;

const searchArea = <Result>(area: LinkArea, use: (found: FoundLinks, grant: Grant) => Result): Result =>
  withGrants((grant) => {
    for (const folder of area.folders) tryTo(() => grantReach(displayPath(folder), grant));
    return use(findLinks(area, grant), grant);
  });

const remove = ({ path, target, before }: Omit<PlantedLink, 'problem'>, grant: Grant): PlantedLink => {
  const problem = tryTo(() => {
    grant(pathBytes(dirname(path)), 0o300);
    unlinkSync(pathBytes(path));
    // The link of the user.
    if (before !== null) symlinkSync(pathBytes(before), pathBytes(path));
  });
  return {
    path: displayPath(path),
    target: displayPath(target),
    before: before === null ? null : displayPath(before),
    problem,
  };
};

/** Returns the problem if it fails. */
const tryTo = (work: () => void): string | null => {
  try {
    work();
    return null;
  } catch (error) {
    return systemProblem(error);
  }
};

export const areAllRemoved = ({ planted, unsearched }: RemovedLinks): boolean =>
  unsearched.length === 0 && planted.every(({ problem }) => problem === null);

const errorOf = ({ planted, unsearched }: RemovedLinks): UserError | null => {
  const [cannot] = unsearched;
  if (cannot !== undefined) return userError('unsearched-git', ...cannot);
  const worst = planted.find(({ problem }) => problem !== null) ?? planted[0];
  return worst === undefined ? null : userError('planted-link', worst.path, worst.target, outcomeOf(worst));
};

const outcomeOf = ({ before, problem }: PlantedLink): string => {
  if (problem !== null) return `The link cannot be removed (${problem}): delete it.`;
  return before === null ? 'The link was removed.' : `The link leads to ${before} again, as before.`;
};
