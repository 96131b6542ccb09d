import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { userError } from '../errors.ts';
import { type Repository, repositoryAt } from '../git/work-tree.ts';
import { realPath } from '../process/which.ts';
import type { Project } from '../store/project.ts';
import { recordedRepository, userRecordFolder, recordRepository } from '../store/user-record.ts';
import { commandLine } from '../text/shell-words.ts';

interface ChangeRef {
  readonly project: Project;
  readonly change: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Throws if git finds another repository for the project than in the last run: an agent may have redirected it, and Spool
 * would commit into that repository.
 */
export const checkRepository = async (ref: ChangeRef): Promise<void> => {
  const { recorded, now } = await compare(ref);
  if (now === null || !isOther(ref, recorded, now)) return;
  const accept = commandLine('spool', 'accept', ref.change);
  throw userError('other-repository', ref.project.root, folderOf(recorded), folderOf(now), accept);
};

/** Records the repository of the first run of a project. */
export const noteRepository = async (ref: ChangeRef): Promise<void> => {
  const { recorded, now } = await compare(ref);
  if (recorded === undefined || (recorded === null && now !== null)) recordRepository(folderFor(ref), now);
};

/** Accepts the current repository of the project. Returns its folder; null if it has not changed. */
export const acceptRepository = async (ref: ChangeRef): Promise<string | null> => {
  const { recorded, now } = await compare(ref);
  if (now === null || !isOther(ref, recorded, now)) return null;
  recordRepository(folderFor(ref), now);
  return folderOf(now);
};

const compare = async (ref: ChangeRef) => ({
  recorded: recordedRepository(folderFor(ref)),
  now: await repositoryAt(ref.project.root),
});

/** A project without a repository may get one with `git init`. */
const isOther = ({ project }: ChangeRef, recorded: Repository | null | undefined, now: Repository): boolean => {
  if (recorded === undefined) return false;
  return recorded === null ? now.gitFolder !== join(realPath(project.root), '.git') : !isDeepStrictEqual(recorded, now);
};

const folderFor = ({ project, change, env }: ChangeRef): string => userRecordFolder(project, change, env);

/** Adds the root of the work tree if it is not the folder of `.git`, because of `core.worktree`. */
const folderOf = (repository: Repository | null | undefined): string => {
  if (!repository) return 'none';
  const { gitFolder, root } = repository;
  return gitFolder === join(root, '.git') ? gitFolder : `${gitFolder} for ${root}`;
};
