import { removeIfEmpty } from '../files/folders.ts';
import { removeSafely, renameSafely } from '../files/safe.ts';
import { makeRalphFolder } from './folders.ts';
import { acquireLock, beatMs, type Lock } from './lock.ts';
import { type LockOwner, readOwner } from './lock-owner.ts';
import { formerRemovedFile, queueFile, ralphFolder, removedFile } from './paths.ts';
import type { Project } from './project.ts';
import { queuedBy } from './state.ts';

/*
 * Each change that a batch has not started yet has a lock file that names the process of the batch, so that a killed batch
 * leaves nothing in the queue. The first process to rename the file wins: the batch starts the change, or another process
 * removes it from the queue. A file that was deleted means nothing, as an agent may delete the whole state folder.
 */

/** The changes of a batch that have not started yet. */
export interface BatchQueue {
  /** Whether another process has removed a change from the queue. */
  isRemoved(change: string): boolean;
  /** Removes a change that starts now. Returns false if another process has removed it before. */
  dequeue(change: string): boolean;
  /** Removes all changes that are left. */
  dispose(): void;
}

/** A change whose state cannot be written is not listed: its start says why. Neither is one in the queue of another batch. */
export const openBatchQueue = (project: Project, changes: readonly string[]): BatchQueue => {
  const locks = new Map<string, Lock>();
  for (const change of changes)
    attempt(() => {
      makeRalphFolder(project, change);
      const lock = acquireLock(queueFile(project, change), change);
      if (lock.kind === 'held') locks.set(change, lock);
      return true;
    });
  const listed = [...locks.keys()];
  const timer = setInterval(() => locks.forEach((lock) => lock.beat()), beatMs).unref();
  const removedFiles = (change: string) => [removedFile(project, change), formerRemovedFile(project, change)];
  const isRemoved = (change: string): boolean => {
    const id = locks.get(change)?.id;
    return id !== undefined && removedFiles(change).some((path) => attempt(() => readOwner(path)?.id === id));
  };
  const dequeue = (change: string): boolean => {
    const lock = locks.get(change);
    if (lock === undefined) return true;
    const mayStart = attempt(() => removeOwn(queueFile(project, change), lock)) || !isRemoved(change);
    if (!mayStart) for (const path of removedFiles(change)) attempt(() => remove(path));
    locks.delete(change);
    return mayStart;
  };
  return {
    isRemoved,
    dequeue,
    dispose: () => {
      clearInterval(timer);
      [...locks.keys()].forEach(dequeue);
      for (const change of listed) attempt(() => removeIfEmpty(ralphFolder(project, change)));
    },
  };
};

/** Returns false if another process was faster. */
const removeOwn = (path: string, { id }: Lock): boolean => {
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
export const removeFromQueue = (project: Project, change: string): LockOwner | null => {
  const owner = queuedBy(project, change);
  return owner && renameIfThere(queueFile(project, change), removedFile(project, change)) ? owner : null;
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
