import { lstatSync, renameSync, rmSync } from 'node:fs';

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

const isThere = (path: string): boolean => {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
};
