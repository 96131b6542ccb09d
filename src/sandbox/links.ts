import { lstatSync, readlinkSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemProblem } from '../errors.ts';
import { byteEntries, pathBytes } from '../files/bytes.ts';
import { isMissing } from '../files/checks.ts';
import { isWithin } from '../process/which.ts';
import type { Grant } from './folder-modes.ts';

/** Where links lead git astray. All paths are in latin1, without links. */
export interface LinkArea {
  /** The git folders. */
  readonly folders: readonly string[];
  /** The folder with the loose objects. */
  readonly objects: string;
  /** The folders that processes in the sandbox can write to. */
  readonly writable: readonly string[];
}

export interface FoundLinks {
  /** Targets by path, both in latin1. */
  readonly links: ReadonlyMap<string, string>;
  /** What could not be searched, with the reason. Links may be there. */
  readonly unsearched: ReadonlyMap<string, string>;
}

/**
 * Finds the links in the git folders, and those on the way to their targets and in these, as far as processes in the
 * sandbox can replace them. Grants itself the permissions that it needs.
 */
export const findLinks = ({ folders, objects, writable }: LinkArea, grant: Grant): FoundLinks => {
  const links = new Map<string, string>();
  const unsearched = new Map<string, string>();
  const waiting = [...folders];
  const seen = new Set<string>();
  const isWritable = (path: string) => writable.some((folder) => path !== folder && isWithin(path, folder));

  const follow = (path: string): void => {
    const way = resolveLink(path, isWritable);
    for (const [link, target] of way.links) if (link === path || isWritable(link)) links.set(link, target);
    // A target that contains the work tree is not a folder of git.
    if (isWritable(way.end) && !writable.some((folder) => isWithin(folder, way.end)) && isFolder(way.end))
      waiting.push(way.end);
  };

  const attempt = (path: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (!isMissing(error)) unsearched.set(path, systemProblem(error));
    }
  };

  const search = (folder: string): void => {
    grant(pathBytes(folder), 0o500);
    for (const { kind, name, path } of byteEntries(folder)) {
      if (kind === 'link') attempt(path, () => follow(path));
      if (kind === 'folder' && !(folder === objects && looseFolder.test(name))) waiting.push(path);
    }
  };

  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (seen.has(folder)) continue;
    seen.add(folder);
    const at = folder;
    attempt(at, () => search(at));
  }
  return { links, unsearched };
};

/** git renames new objects into place and never writes to existing ones. */
const looseFolder = /^[\da-f]{2}$/;

interface Way {
  /** All links on the way, with their targets. */
  readonly links: readonly (readonly [string, string])[];
  readonly end: string;
}

/** Follows a link whose parent folders are no links. Throws if it cannot look at a path that is writable. */
const resolveLink = (path: string, isWritable: (path: string) => boolean): Way => {
  const links: [string, string][] = [];
  let at = dirname(path);
  const rest = [path.slice(at.length + 1)];
  while (rest.length > 0 && links.length < maxLinks) {
    const name = rest.shift()!;
    const next = name === '..' ? dirname(at) : join(at, name);
    const target = targetOf(next, isWritable);
    if (target === null) {
      at = next;
      continue;
    }
    links.push([next, target]);
    if (target.startsWith('/')) at = '/';
    rest.unshift(...target.split('/').filter((part) => part !== '' && part !== '.'));
  }
  return { links, end: at };
};

/** The limit of Linux. */
const maxLinks = 40;

/** Returns null if there is no link. */
const targetOf = (path: string, isWritable: (path: string) => boolean): string | null => {
  try {
    const stats = lstatSync(pathBytes(path), { throwIfNoEntry: false });
    return stats?.isSymbolicLink() ? readlinkSync(pathBytes(path), 'latin1') : null;
  } catch (error) {
    if (isMissing(error) || !isWritable(path)) return null;
    throw error;
  }
};

const isFolder = (path: string): boolean =>
  statSync(pathBytes(path), { throwIfNoEntry: false })?.isDirectory() ?? false;
