import { dirname } from 'node:path';
import { createFolder } from '../../files/folders.ts';
import { readSafely, replaceSafely } from '../../files/safe.ts';
import type { Repository } from '../../git/work-tree.ts';
import { object, orNull, parseJson, required, type Shape, text } from '../../text/shape.ts';
import { repositoryFile } from '../paths.ts';

/** Called when a run starts, with the repository that git uses in the project; null if it has no repository. */
export const recordRepository = (folder: string, repository: Repository | null): void => {
  createFolder(dirname(folder));
  replaceSafely(repositoryFile(folder), `${JSON.stringify(repository)}\n`);
};

/** The repository of the runs of a project: null if they had none, undefined if nothing is recorded. */
export const recordedRepository = (folder: string): Repository | null | undefined => {
  const content = readSafely(repositoryFile(folder))?.toString('utf8');
  return content === undefined ? undefined : orNull(repositoryShape)(parseJson(content));
};

const repositoryShape: Shape<Repository> = object<Repository>({
  gitFolder: required(text),
  sharedFolder: required(text),
  root: required(text),
});
