import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { userError } from '../../errors.ts';
import {
  type FoundRepository,
  isInWorkTree,
  isOwnRepository,
  type Repository,
  repositoryAt,
} from '../../git/work-tree.ts';
import { realPath } from '../../process/which.ts';
import type { ChangeRef } from '../../store/change-ref.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { recordedRepository, recordRepository } from '../../store/user-state/repository.ts';
import { commandLine } from '../../text/shell-words.ts';

/**
 * Throws if git finds another repository for the project than in the last run, or in the first run one that is not its
 * own: an agent or the author of the project may have redirected it, and Spool would commit into that repository.
 */
export const checkRepository = async (ref: ChangeRef): Promise<FoundRepository> => {
  const { recorded, found } = await compare(ref);
  const now = found.repository;
  if (now === null || isExpected(ref, recorded, now)) return found;
  const { root } = ref.project;
  const accept = commandLine('spool', 'accept', ref.change);
  throw recorded === undefined
    ? userError('foreign-repository', root, folderOf(now), accept)
    : userError('other-repository', root, folderOf(recorded), folderOf(now), accept);
};

/** Records the repository of the first run of a project, and a first repository, once it was checked. */
export const noteRepository = (ref: ChangeRef, checked: Repository | null): void => {
  const known = recordedRepository(folderFor(ref));
  if (known) return;
  if (known === undefined || checked !== null) recordRepository(folderFor(ref), checked);
};

/** Accepts the current repository of the project. Returns its folder; null if it needs no consent. */
export const acceptRepository = async (ref: ChangeRef): Promise<string | null> => {
  const { recorded, found } = await compare(ref);
  const now = found.repository;
  if (now === null || isExpected(ref, recorded, now)) return null;
  recordRepository(folderFor(ref), now);
  return folderOf(now);
};

/** Throws if the work tree does not contain the project: Spool would work in the wrong folder. */
const compare = async (ref: ChangeRef) => {
  const { root } = ref.project;
  const found = await repositoryAt(root);
  const now = found.repository;
  if (now !== null && !isInWorkTree(root, now.root)) throw userError('foreign-work-tree', root, now.root, now.gitDir);
  return { recorded: recordedRepository(folderFor(ref)), found };
};

const isExpected = ({ project }: ChangeRef, recorded: Repository | null | undefined, now: Repository): boolean => {
  if (recorded === undefined) return isOwnRepository(now);
  return isDeepStrictEqual(now, recorded ?? newRepositoryIn(project));
};

/** What `git init` creates in a project without a repository. */
const newRepositoryIn = (project: ChangeRef['project']): Repository => {
  const root = realPath(project.root);
  const gitDir = join(root, '.git');
  return { gitDir, sharedFolder: gitDir, root };
};

const folderFor = ({ project, change, env }: ChangeRef): string => userStateFolder(project, change, env);

/** Adds what is unusual: the work tree, because of `core.worktree`, and the repository that has the branches. */
const folderOf = (repository: Repository | null | undefined): string => {
  if (!repository) return 'none';
  const { gitDir, sharedFolder, root } = repository;
  const workTree = gitDir === join(root, '.git') ? '' : ` for ${root}`;
  return `${gitDir}${workTree}${sharedFolder === gitDir ? '' : ` with the branches of ${sharedFolder}`}`;
};
