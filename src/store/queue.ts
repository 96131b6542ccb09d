import { removeIfEmpty } from '../files/folders.ts';
import { removeSafely, renameSafely } from '../files/safe.ts';
import { makeRalphFolder } from './folders.ts';
import { acquireLock, beatMs, type Lock } from './lock.ts';
import { type LockOwner, readOwner } from './lock-owner.ts';
import { queueFile, ralphFolder, takenOutFile } from './paths.ts';
import type { Project } from './project.ts';
import { queuedBy } from './state.ts';

/*
 * Each change that a batch has not started yet has a lock file that names the process of the batch, so that a killed batch
 * leaves nothing in the queue. The first process to rename the file wins: the batch starts the change, or another process
 * removes it from the queue. A file that was deleted means nothing, as an agent may delete the whole state folder.
 */

/** The changes of a batch that have not started yet. */
export interface Queue {
  /** Whether another process has taken a change out of the queue. */
  isTakenOut(change: string): boolean;
  /** Removes a change that starts now. Returns false if another process has taken it out before. */
  leave(change: string): boolean;
  /** Removes all changes that are left. */
  dispose(): void;
}

/** A change whose state cannot be written is not listed: its start says why. Neither is one in the queue of another batch. */
export const openQueue = (project: Project, changes: readonly string[]): Queue => {
  const places = new Map<string, Lock>();
  for (const change of changes)
    attempt(() => {
      makeRalphFolder(project, change);
      const place = acquireLock(queueFile(project, change), change);
      if (place.kind === 'held') places.set(change, place);
      return true;
    });
  const listed = [...places.keys()];
  const timer = setInterval(() => places.forEach((place) => place.beat()), beatMs).unref();
  const isTakenOut = (change: string): boolean => {
    const id = places.get(change)?.id;
    return id !== undefined && attempt(() => readOwner(takenOutFile(project, change))?.id === id);
  };
  const leave = (change: string): boolean => {
    const place = places.get(change);
    if (place === undefined) return true;
    const mayStart = attempt(() => removePlace(queueFile(project, change), place)) || !isTakenOut(change);
    if (!mayStart) attempt(() => remove(takenOutFile(project, change)));
    places.delete(change);
    return mayStart;
  };
  return {
    isTakenOut,
    leave,
    dispose: () => {
      clearInterval(timer);
      [...places.keys()].forEach(leave);
      for (const change of listed) attempt(() => removeIfEmpty(ralphFolder(project, change)));
    },
  };
};

/** Returns false if another process was faster. */
const removePlace = (path: string, { id }: Lock): boolean => {
  const draft = `${path}.${id}`;
  return readOwner(path)?.id === id && renameIfThere(path, draft) && remove(draft);
};

const remove = (path: string): boolean => {
  removeSafely(path);
  return true;
};

/** Returns false if it fails. An agent may put anything in the place of a file, which must not end the batch. */
const attempt = (work: () => boolean): boolean => {
  try {
    return work();
  } catch {
    return false;
  }
};

/** Removes a change from the queue of a batch, which will not start it. Returns null if it is in none, or starts now. */
export const takeOut = (project: Project, change: string): LockOwner | null => {
  const owner = queuedBy(project, change);
  return owner && renameIfThere(queueFile(project, change), takenOutFile(project, change)) ? owner : null;
};

const renameIfThere = (from: string, to: string): boolean => {
  try {
    renameSafely(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
};
