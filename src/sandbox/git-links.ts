import { type Dirent, readdirSync, readlinkSync, unlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { userError } from '../errors.ts';
import { guardGit } from '../git/call/git.ts';

/** git writes through links in its own folder: one that was planted inside would lead Spool's git out of the project. */
export interface LinkWatch {
  /** Removes links that were not there before, and fails when there was one: no git is run outside from then on. */
  refuseNew(): void;
}

/**
 * What links these folders of git have is noted when they are seen for the first time, before anything ran inside. The
 * first one is that of the work tree, whatever it is called; the others are those in another one that it shares.
 */
export const watchLinks = ([own, ...shared]: readonly string[]): LinkWatch => {
  if (own === undefined) return { refuseNew: () => {} };
  const objects = shared.find((folder) => basename(folder) === 'objects') ?? join(own, 'objects');
  const watched = [own, ...shared];
  for (const folder of watched) if (!noted.has(folder)) noted.set(folder, new Set(linksBelow(folder, objects)));
  return {
    refuseNew: () => {
      const planted = watched.flatMap((folder) =>
        linksBelow(folder, objects).filter((path) => !noted.get(folder)!.has(path)),
      );
      const [first] = planted;
      if (first === undefined) return;
      const target = readlinkSync(first);
      guardGit(() => Promise.resolve(`${first} was a link that was created in the sandbox`));
      // Otherwise the next run would find them, and take them for the user's own.
      for (const path of planted) unlinkSync(path);
      throw userError('planted-link', first, target);
    },
  };
};

const noted = new Map<string, ReadonlySet<string>>();

/** Of loose objects only the folders count: git moves new ones into place and never writes to one that is there. */
const linksBelow = (folder: string, objects: string): string[] =>
  entriesIn(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) return [path];
    const isLoose = folder === objects && looseFolder.test(entry.name);
    return entry.isDirectory() && !isLoose ? linksBelow(path, objects) : [];
  });

const looseFolder = /^[\da-f]{2}$/;

/** Nothing where there is no folder; what is behind a link is not looked at, as the link itself is what counts. */
const entriesIn = (folder: string): Dirent[] => {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
};
