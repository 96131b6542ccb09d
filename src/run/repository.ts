import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { userError } from '../errors.ts';
import { type Repository, repositoryAt } from '../git/worktree.ts';
import { realPath } from '../process/which.ts';
import type { Project } from '../store/project.ts';
import { recordedRepository, recordFolder, recordRepository } from '../store/record.ts';
import { commandLine } from '../text/shell-words.ts';

interface RunPlace {
  readonly project: Project;
  readonly change: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Throws when git has another repository for the project than in the last run: an agent may have led it there, and
 * Spool would commit into it.
 */
export const checkRepository = async (place: RunPlace): Promise<void> => {
  const { recorded, now } = await compare(place);
  if (now === null || !isOther(place, recorded, now)) return;
  const accept = commandLine('spool', 'accept', place.change);
  throw userError('other-repository', place.project.root, folderOf(recorded), folderOf(now), accept);
};

/** Records the repository of the first run of a project. */
export const noteRepository = async (place: RunPlace): Promise<void> => {
  const { recorded, now } = await compare(place);
  if (recorded === undefined || (recorded === null && now !== null)) recordRepository(folderFor(place), now);
};

/** Accepts the repository that git has for the project now. Returns its folder; null if it was the same before. */
export const acceptRepository = async (place: RunPlace): Promise<string | null> => {
  const { recorded, now } = await compare(place);
  if (now === null || !isOther(place, recorded, now)) return null;
  recordRepository(folderFor(place), now);
  return folderOf(now);
};

const compare = async (place: RunPlace) => ({
  recorded: recordedRepository(folderFor(place)),
  now: await repositoryAt(place.project.root),
});

/** A project without a repository may get one of its own by `git init`. */
const isOther = ({ project }: RunPlace, recorded: Repository | null | undefined, now: Repository): boolean => {
  if (recorded === undefined) return false;
  return recorded === null ? now.gitFolder !== join(realPath(project.root), '.git') : !isDeepStrictEqual(recorded, now);
};

const folderFor = ({ project, change, env }: RunPlace): string => recordFolder(project, change, env);

/** A work tree elsewhere makes a difference only if the setting `core.worktree` names it. */
const folderOf = (repository: Repository | null | undefined): string => {
  if (!repository) return 'none';
  const { gitFolder, root } = repository;
  return gitFolder === join(root, '.git') ? gitFolder : `${gitFolder} for ${root}`;
};
