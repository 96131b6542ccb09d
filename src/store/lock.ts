import { lstatSync } from 'node:fs';
import { userError } from '../errors.ts';
import { linkSafely, removeSafely, renameSafely, touchSafely, writeSafely } from '../files/safe.ts';
import { stampOf } from '../files/stamp.ts';
import { processStart } from '../process/start-time.ts';
import { type LockingCommand, hostName, isAlive, isUnreadable, type LockOwner, readOwner } from './lock-owner.ts';

export type Locking =
  | ({
      readonly kind: 'held';
      /** The dead owner that had it before; null if it was free. */
      readonly replaced: LockOwner | null;
    } & Lock)
  | { readonly kind: 'taken'; readonly by: LockOwner };

/** How often an owner renews its lock. */
export const beatMs = 30_000;

export interface Lock {
  /** Identifies its owner. */
  readonly id: string;
  /** Creates the file again if it was deleted. Returns the owner if another process has taken the lock. */
  reassert(): LockOwner | null;
  /** Shows other machines that the owner is alive. */
  beat(): void;
  release(): void;
}

/**
 * Takes a lock that one live process can hold. The file appears complete or not at all (a hard link to a finished file).
 * Exactly one of several processes replaces the lock of a dead owner: the one that holds a lock on that lock file.
 */
export const acquireLock = (path: string, purpose: string, command: LockingCommand = 'ralph'): Locking =>
  acquire(path, newOwner(purpose, command), 0);

/** How often the lock may change hands while this process waits. */
const maxTries = 1000;

/** A process that is killed while it replaces a lock leaves a lock on that lock file. More than a few are forged. */
const maxDepth = 3;

const acquire = (path: string, mine: LockOwner, depth: number): Locking => {
  for (let tries = 0; tries < maxTries; tries++) {
    if (link(path, mine)) return held(path, mine, null);
    const owner = readOwner(path);
    if (owner === null && isLink(path)) throw userError('io', path, 'it is a symbolic link');
    if (owner === null) continue;
    if (isAlive(path, owner)) return { kind: 'taken', by: owner };
    if (depth === maxDepth)
      throw userError('unsafe-file', path, 'is one of several leftover locks', 'Delete it and try again.');
    const takeover = acquire(`${path}.${owner.id}`, mine, depth + 1);
    // Another process is replacing the lock.
    if (takeover.kind === 'taken') return takeover;
    if (replaceDead(path, owner, { mine, takeover })) return held(path, mine, owner);
  }
  throw userError('io', path, 'other processes keep replacing it');
};

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

const held = (path: string, mine: LockOwner, replaced: LockOwner | null): Locking => {
  let lastSeen: string | null = null;
  const isMine = (): boolean => {
    const version = stableVersion(path);
    if (version !== null && version === lastSeen) return true;
    const found = readOwner(path)?.id === mine.id;
    lastSeen = found ? version : null;
    return found;
  };
  return {
    kind: 'held',
    id: mine.id,
    replaced,
    reassert: () => {
      if (isMine()) return null;
      const found = readOwner(path);
      // Not written by Spool.
      if (found && isUnreadable(found)) removeSafely(path);
      if (found === null || isUnreadable(found)) link(path, mine);
      const owner = readOwner(path);
      return owner?.id === mine.id ? null : owner;
    },
    beat: () => {
      try {
        touchSafely(path);
      } catch {
        // It was deleted: `reassert` creates it again.
      }
    },
    release: () => {
      if (readOwner(path)?.id === mine.id) removeSafely(path);
    },
  };
};

/** Longer than the resolution of file times, within which two changes look the same. */
const stableAfterMs = 100;

/** Identifies a version of a file; null if there is no file, or if it is too new to be distinguished. */
const stableVersion = (path: string): string | null => {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats?.isFile() || Date.now() - stats.ctimeMs < stableAfterMs) return null;
  return stampOf(stats);
};

/** Returns false if the lock exists. */
const link = (path: string, mine: LockOwner): boolean => {
  const draft = draftOf(path, mine);
  try {
    writeSafely(draft, JSON.stringify(mine), 'create');
    linkSafely(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    removeSafely(draft);
  }
};

const draftOf = (path: string, mine: LockOwner) => `${path}.${mine.id}.draft`;

/** Returns false if another process was faster: the lock must be read again. Releases the lock for the takeover. */
const replaceDead = (
  path: string,
  dead: LockOwner,
  { mine, takeover }: { readonly mine: LockOwner; readonly takeover: Lock },
): boolean => {
  try {
    if (readOwner(path)?.id !== dead.id) return false;
    const draft = draftOf(path, mine);
    writeSafely(draft, JSON.stringify(mine), 'create');
    renameSafely(draft, path);
    return true;
  } finally {
    takeover.release();
  }
};

const newOwner = (purpose: string, command: LockingCommand): LockOwner => ({
  id: crypto.randomUUID(),
  pid: process.pid,
  start: processStart(process.pid) ?? '',
  host: hostName(),
  since: new Date().toISOString(),
  purpose,
  command,
});
