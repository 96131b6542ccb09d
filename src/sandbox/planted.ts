import { lstatSync, renameSync, rmSync } from 'node:fs';

/** The files as they are now, by path: whether one was replaced since can be told. */
export const identitiesOf = (paths: readonly string[]): ReadonlyMap<string, number> =>
  new Map(paths.flatMap((path) => (statOf(path)?.isFile() ? [[path, statOf(path)!.ino] as const] : [])));

/** A file that somebody outside replaces can be written inside from then on: a line for each that was. */
export const replacedSince = (before: ReadonlyMap<string, number>): string[] =>
  [...before]
    .filter(([path, ino]) => statOf(path)?.ino !== ino)
    .map(
      ([path]) =>
        `${path} was replaced while something ran in the sandbox, which could write to it from then on: look at it.`,
    );

/** Those that are there, links included. */
export const existing = (paths: readonly string[]): string[] => paths.filter(isThere);

/** Moves away what was created inside although it is protected; answers with a line for each. */
export const setPlantedAside = (absent: readonly string[]): string[] =>
  existing(absent).map((path) => {
    const aside = `${path}.from-sandbox`;
    rmSync(aside, { recursive: true, force: true });
    renameSync(path, aside);
    return `The sandbox protects ${path}: what was created there is now ${aside}.`;
  });

const isThere = (path: string): boolean => statOf(path) !== null;

const statOf = (path: string) => {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
};
