import { type Dirent, readdirSync, readlinkSync, unlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { userError } from '../errors.ts';
import { guardGit } from '../git/call/git.ts';

/**
 * git writes through symbolic links in its folders: one planted in the sandbox would lead Spool's git out of the
 * project.
 */
export interface LinkWatch {
  /** Deletes new links and throws if there are any. After that, git is no longer run outside of the sandbox. */
  refuseNew(): void;
}

/**
 * Records the links in these git folders on the first call, before anything runs in the sandbox. The first folder is
 * that of the work tree, the others are the ones it shares with other work trees.
 */
export const watchLinks = ([own, ...shared]: readonly string[]): LinkWatch => {
  if (own === undefined) return { refuseNew: () => {} };
  const objects = shared.find((folder) => basename(folder) === 'objects') ?? join(own, 'objects');
  const watched = [own, ...shared];
  for (const folder of watched)
    if (!knownLinks.has(folder)) knownLinks.set(folder, new Set(linksBelow(folder, objects)));
  return {
    refuseNew: () => {
      const planted = watched.flatMap((folder) =>
        linksBelow(folder, objects).filter((path) => !knownLinks.get(folder)!.has(path)),
      );
      const [first] = planted;
      if (first === undefined) return;
      const target = readlinkSync(first);
      guardGit(() => Promise.resolve(`${first} was a link created in the sandbox`));
      // Otherwise the next run would take them for links of the user.
      for (const path of planted) unlinkSync(path);
      throw userError('planted-link', first, target);
    },
  };
};

const knownLinks = new Map<string, ReadonlySet<string>>();

/**
 * Does not search the folders of loose objects: git renames new objects into place and never writes to existing ones.
 */
const linksBelow = (folder: string, objects: string): string[] =>
  entriesIn(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) return [path];
    const isLoose = folder === objects && looseFolder.test(entry.name);
    return entry.isDirectory() && !isLoose ? linksBelow(path, objects) : [];
  });

const looseFolder = /^[\da-f]{2}$/;

/** Returns an empty list if there is no folder. Links are not followed. */
const entriesIn = (folder: string): Dirent[] => {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
};
