import { type Dirent, readdirSync, readlinkSync, unlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { userError } from '../errors.ts';
import { guardGit } from '../git/git.ts';

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
  const watched = [
    ...(own === undefined ? [] : [{ folder: own, links: () => linksIn(own) }]),
    ...shared.map((folder) => ({ folder, links: () => linksBelow(folder, levels[basename(folder)] ?? Infinity) })),
  ];
  for (const { folder, links } of watched) if (!noted.has(folder)) noted.set(folder, new Set(links()));
  return {
    refuseNew: () => {
      const planted = watched.flatMap(({ folder, links }) => links().filter((path) => !noted.get(folder)!.has(path)));
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

/** How many levels below a folder git writes to files under their own names; elsewhere it moves new files into place. */
const levels: Readonly<Record<string, number>> = { logs: Infinity, refs: Infinity, objects: 0, info: 0, worktrees: 0 };

const linksIn = (folder: string): string[] => [
  ...linksBelow(folder, 0),
  ...Object.entries(levels).flatMap(([name, depth]) => linksBelow(join(folder, name), depth)),
];

const linksBelow = (folder: string, depth: number): string[] =>
  entriesIn(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) return [path];
    return depth > 0 && entry.isDirectory() ? linksBelow(path, depth - 1) : [];
  });

/** Nothing where there is no folder; what is behind a link is not looked at, as the link itself is what counts. */
const entriesIn = (folder: string): Dirent[] => {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
};
