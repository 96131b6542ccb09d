import { join } from 'node:path';
import { asUserError } from '../errors.ts';
import { createFolder, entriesOf } from '../files/folders.ts';
import { readJson } from '../files/read.ts';
import { removeSafely, replaceSafely } from '../files/safe.ts';
import { isObject } from '../text/shape.ts';
import { book, type Spending } from './budget.ts';
import type { Held } from './claims.ts';
import type { WorkerFolders } from './clone.ts';
import type { Database } from './database.ts';
import { keyOf } from './fence.ts';

/** What the agents of an attempt have reported and the database does not know yet. */
export interface Unbooked {
  readonly held: Held;
  readonly budget: string | null;
  readonly spent: readonly Spending[];
}

/** Saves it on this machine, for the case that the worker is killed. A full disk must not end a run. */
export const saveUnbooked = (folders: WorkerFolders, { held, budget, spent }: Unbooked): void => {
  const { project, id, epoch } = held;
  const path = join(folderOf(folders), `${keyOf(id)}-${epoch}.json`);
  try {
    if (spent.length === 0) return removeSafely(path);
    createFolder(folderOf(folders));
    replaceSafely(path, JSON.stringify({ held: { project, id, epoch }, budget, spent }));
  } catch {}
};

/** Books what a worker that was killed has left on this machine. Agents can write there, so it may be anything. */
export const bookLeftovers = async (database: Database, folders: WorkerFolders): Promise<void> => {
  for (const { name } of entriesOf(folderOf(folders))) {
    const path = join(folderOf(folders), name);
    const left = readJson(path);
    if (isUnbooked(left))
      for (const spending of left.spent)
        await book(database, left.held, { ...spending, isOver: true, budget: left.budget }).catch(ignoreRefusal);
    removeSafely(path);
  }
};

const ignoreRefusal = (error: unknown): void => {
  if (asUserError(error) !== null) throw error;
};

const folderOf = ({ repository }: WorkerFolders): string => join(repository, 'unbooked');

const isUnbooked = (value: unknown): value is Unbooked =>
  isObject(value) &&
  isObject(value.held) &&
  [value.held.project, value.held.id].every((part) => typeof part === 'string') &&
  Number.isSafeInteger(value.held.epoch) &&
  Array.isArray(value.spent) &&
  value.spent.every(
    (spending) => isObject(spending) && typeof spending.run === 'string' && Number.isFinite(spending.costUsd),
  );
