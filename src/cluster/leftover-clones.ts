import { join } from 'node:path';
import { folderNames } from '../files/read.ts';
import { terminateLeftovers } from '../process/tree.ts';
import { removeClone, tagOf, type WorkerFolders } from './clone.ts';
import type { Sql } from './database.ts';
import { keyOf } from './fence.ts';

/** Ends the processes of agents that a killed worker has left. No other worker uses its folder. */
export const endLeftoverAgents = async (folders: WorkerFolders): Promise<number> => {
  let ended = 0;
  for (const name of folderNames(folders.changes))
    ended += await terminateLeftovers(tagOf({ top: join(folders.changes, name) }));
  return ended;
};

/** Deletes the clones that a killed worker has left, except those with work that could not be pushed. */
export const removeLeftoverClones = async (
  sql: Sql,
  { folders, project }: { readonly folders: WorkerFolders; readonly project: string },
  env: NodeJS.ProcessEnv,
): Promise<void> => {
  const failed = await sql.query<{ id: string; epoch: number }>(
    `select id, epoch from spool.change where project = $1 and state = 'failed'`,
    [project],
  );
  const kept = new Set(failed.map(({ id, epoch }) => `${keyOf(id)}-${epoch}`));
  for (const name of folderNames(folders.changes).filter((each) => !kept.has(each))) {
    const top = join(folders.changes, name);
    removeClone({ project: { root: top }, top }, env);
  }
};

/** Deletes the clones of earlier attempts at a change, which a killed worker has left. */
export const removeOlderClones = (
  folders: WorkerFolders,
  { id, epoch }: { id: string; epoch: number },
  env: NodeJS.ProcessEnv,
): void => {
  const prefix = `${keyOf(id)}-`;
  for (const name of folderNames(folders.changes)) {
    const number = Number(name.slice(prefix.length));
    if (!name.startsWith(prefix) || !Number.isSafeInteger(number) || number >= epoch) continue;
    const top = join(folders.changes, name);
    removeClone({ project: { root: top }, top }, env);
  }
};
