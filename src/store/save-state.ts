import { existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { linkSafely, renameSafely, replaceSafely } from '../files/safe.ts';
import type { RunView } from '../ralph/view.ts';
import type { Project } from './project.ts';
import { stateFile, startFile } from './paths.ts';

/** Renames a damaged state.json and writes the rebuilt view, if there is one. Returns the new name of the damaged file. */
export const replaceState = (project: Project, changeId: string, view: RunView | null): string => {
  const file = stateFile(project, changeId);
  let number = 1;
  while (existsSync(`${file}.damaged-${number}`)) number++;
  const aside = `${file}.damaged-${number}`;
  if (view === null || statSync(file).isDirectory()) renameSafely(file, aside);
  else linkSafely(file, aside);
  if (view) writeState(project, view);
  return basename(aside);
};

/** Replaces the file atomically. */
export const writeState = (project: Project, view: RunView): void => replace(stateFile(project, view.change), view);

/** Saves what a run was started with, so that state.json can be rebuilt. */
export const writeStart = (project: Project, view: RunView): void =>
  replace(startFile(project, view.change, view.run), view);

const replace = (file: string, view: RunView): void => replaceSafely(file, `${JSON.stringify(view, null, 2)}\n`);
