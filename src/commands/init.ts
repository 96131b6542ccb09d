import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { planningFoldersOf } from '../changes/spool/create.ts';
import { createFolder } from '../files/folders.ts';
import { writeSafely } from '../files/safe.ts';
import { isOwnProject, lookForProject, type Project } from '../store/project.ts';
import { hideStateFromGit } from '../store/folders.ts';
import type { Invocation } from './command.ts';
import { configFile, stateFolder } from '../store/paths.ts';

/** Creates what is missing and does not touch existing files. */
export const run = async ({ cwd, terminal }: Invocation): Promise<number> => {
  const found = lookForProject(cwd);
  const project = found && isOwnProject(found) ? found : { root: cwd };
  const created = [
    ...planningFoldersOf(project).flatMap(createIfMissing),
    ...createConfig(project),
    ...(hideStateFromGit(project) ? [join(stateFolder(project), '.gitignore')] : []),
  ];
  if (created.length === 0) {
    terminal.print(`Already a Spool project: ${project.root}\n`);
    return 0;
  }
  terminal.print(
    `Initialized Spool in ${project.root}:\n${created.map((path) => `  ${relative(project.root, path)}\n`).join('')}`,
  );
  terminal.print('\nNext: spool create module <slug>, then spool create change <slug> --module 001\n');
  return 0;
};

const createIfMissing = (path: string): string[] => (createFolder(path) ? [path] : []);

const createConfig = (project: Project): string[] => {
  const file = configFile(project);
  if (existsSync(file)) return [];
  writeSafely(file, '{}\n', 'create');
  return [file];
};
