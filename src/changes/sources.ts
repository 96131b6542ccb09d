import { basename, join } from 'node:path';
import { userError } from '../errors.ts';
import type { Project } from '../store/project.ts';
import { matchId } from './ids.ts';
import type { Change, ChangeSource } from './source.ts';
import { spoolSource } from './spool/source.ts';

/** If two sources have a change with the same id, the first one wins. */
const sources: readonly [ChangeSource, ...ChangeSource[]] = [spoolSource];

/** Where changes are looked for, for messages. */
export const sourceFolders = sources.map(({ folder }) => folder).join(', ');

export const planningFolders: readonly string[] = sources.flatMap((source) => source.planningFolders);

/** Where main specs are, relative to a root. */
export const mainSpecFolders: readonly string[] = sources.flatMap(({ specsFolder }) => specsFolder ?? []);

export const listChanges = async ({ root }: Project): Promise<string[]> => {
  const ids = await Promise.all(sources.map((source) => source.list(root)));
  return [...new Set(ids.flat())].toSorted();
};

export const listArchived = async ({ root }: Project): Promise<string[]> =>
  (await Promise.all(sources.map((source) => source.listArchived(root)))).flat();

/** Returns the id of the active change that matches; throws an error that lists the candidates if not exactly one does. */
export const resolveChange = async (project: Project, query: string): Promise<string> =>
  resolveAmong(query, await listChanges(project));

/** The same for a command that only reads: if no active change matches, an archived one may. */
export const resolveAnyChange = async (project: Project, query: string): Promise<string> => {
  const ids = await listChanges(project);
  if (matchId(query, ids).kind !== 'none') return resolveAmong(query, ids);
  const archived = [...new Set(await listArchived(project))];
  return matchId(query, archived).kind === 'none' ? resolveAmong(query, ids) : resolveAmong(query, archived);
};

const resolveAmong = (query: string, ids: readonly string[]): string => {
  const match = matchId(query, ids);
  switch (match.kind) {
    case 'one':
      return match.id;
    case 'several':
      throw userError('ambiguous-change', query, match.ids);
    case 'none':
      throw userError('unknown-change', { query, folder: sourceFolders, near: match.near, ids });
  }
};

/** The change with an id from `listChanges`, or from a run. It may be gone, for example while another branch is checked out. */
export const changeOf = ({ root }: Project, id: string): Change =>
  (sources.find((source) => source.has(root, id)) ?? sources[0]).change(id);

/** A change that was archived, at its path in the archive; null if there is none with this id. */
export const archivedChange = async ({ root }: Project, id: string): Promise<Change | null> => {
  const found = await Promise.all(sources.map((source) => source.archived(root, id)));
  return found.find((change) => change !== null) ?? null;
};

export const changesOfModule = async (project: Project, moduleId: string): Promise<string[]> =>
  (await listChanges(project)).filter((id) => changeOf(project, id).module === moduleId);

/** The change that has this folder, whether or not it exists; null if no source has changes there. */
export const changeAt = (folder: string): Change | null => {
  const source = sources.find((each) => join(each.folder, basename(folder)) === folder);
  return source?.change(basename(folder)) ?? null;
};

/** Where a change is moved to when it is archived today. */
export const archivePathOf = (change: Change): string =>
  sources.find(({ name }) => name === change.source)!.archivePath(change);

export const isTasksFile = (path: string): boolean => sources.some((source) => source.isTasksFile(path));
