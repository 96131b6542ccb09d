import { dirname } from 'node:path';
import { createFolder } from '../../files/folders.ts';
import { readSafely, replaceSafely } from '../../files/safe.ts';
import type { Repository } from '../../git/work-tree.ts';
import { object, orNull, parseJson, required, type Shape, text } from '../../text/shape.ts';
import { repositoryFile } from '../paths.ts';

/** Called when a run starts, with the repository that git uses in the project; null if it has no repository. */
export const recordRepository = (folder: string, repository: Repository | null): void => {
  createFolder(dirname(folder));
  replaceSafely(repositoryFile(folder), `${JSON.stringify(repository && toSaved(repository))}\n`);
};

/** The repository of the runs of a project: null if they had none, undefined if nothing is recorded. */
export const recordedRepository = (folder: string): Repository | null | undefined => {
  const content = readSafely(repositoryFile(folder))?.toString('utf8');
  if (content === undefined) return undefined;
  const saved = orNull(savedShape)(parseJson(content));
  return saved && { gitDir: saved.gitFolder, sharedFolder: saved.sharedFolder, root: saved.root };
};

/** As in the file, whose names stay the same for other versions of Spool. */
interface SavedRepository {
  readonly gitFolder: string;
  readonly sharedFolder: string;
  readonly root: string;
}

const toSaved = ({ gitDir, sharedFolder, root }: Repository): SavedRepository => ({
  gitFolder: gitDir,
  sharedFolder,
  root,
});

const savedShape: Shape<SavedRepository> = object<SavedRepository>({
  gitFolder: required(text),
  sharedFolder: required(text),
  root: required(text),
});
