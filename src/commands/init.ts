import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { planningFoldersOf } from '../changes/spool/create.ts';
import { createFolder, writeOwn } from '../files/own.ts';
import { configFile, isOwnProject, lookForProject, type Project, stateFolder } from '../store/project.ts';
import { hideStateFromGit } from '../store/folders.ts';
import type { Invocation } from './command.ts';

/** Makes what is missing and leaves alone what is there. */
export const run = async ({ cwd, terminal }: Invocation): Promise<number> => {
  const found = lookForProject(cwd);
  const project = found && isOwnProject(found) ? found : { root: cwd };
  const made = [
    ...planningFoldersOf(project).flatMap(makeFolder),
    ...makeConfig(project),
    ...(hideStateFromGit(project) ? [join(stateFolder(project), '.gitignore')] : []),
  ];
  if (made.length === 0) {
    terminal.print(`Already a Spool project: ${project.root}\n`);
    return 0;
  }
  terminal.print(`Made in ${project.root}:\n${made.map((path) => `  ${relative(project.root, path)}\n`).join('')}`);
  terminal.print('\nNext: spool create module <slug>, then spool create change <slug> --module 001\n');
  return 0;
};

const makeFolder = (path: string): string[] => (createFolder(path) ? [path] : []);

const makeConfig = (project: Project): string[] => {
  const file = configFile(project);
  if (existsSync(file)) return [];
  writeOwn(file, '{}\n', 'create');
  return [file];
};
