import {
  linkSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { atPath, userError } from '../errors.ts';
import { processStart } from '../processes.ts';
import { count, matching, object, orNull, required, type Shape, text, wrongIs } from './shape.ts';

export interface LockOwner {
  readonly id: string;
  readonly pid: number;
  readonly start: string | null;
  readonly host: string;
  readonly since: string;
  /** What it is for, in a word. */
  readonly purpose: string;
}

export type Locking =
  | ({
      readonly kind: 'held';
      /** Whose lock it was, and who is dead; null when it was free. */
      readonly replaced: LockOwner | null;
    } & Lock)
  | { readonly kind: 'taken'; readonly by: LockOwner };

export interface Lock {
  /** Puts the file back if somebody has deleted it; answers with the owner if somebody else has it now. */
  keep(): LockOwner | null;
  /** Shows to other machines that the owner lives. */
  beat(): void;
  release(): void;
}

/**
 * A lock that one living process holds. It appears whole or not at all (a hard link to a finished file), and a dead
 * owner's is replaced by exactly one of those who want it: whoever holds the lock on that very lock file.
 */
export const acquireLock = (path: string, purpose: string): Locking => {
  const mine = newOwner(purpose);
  for (;;) {
    if (link(path, mine)) return held(path, mine, null);
    const owner = readOwner(path);
    if (owner === null && isLink(path)) throw userError('io', path, 'it is a symbolic link');
    if (owner === null) continue;
    if (isAlive(path, owner)) return { kind: 'taken', by: owner };
    if (replaceDead(path, owner, mine)) return held(path, mine, owner);
  }
};

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

/** The living owner of a lock; null when nobody holds it. Nobody can hold one that is a folder. */
export const lockOwner = (path: string): LockOwner | null => {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return null;
  const owner = readOwner(path);
  return owner && isAlive(path, owner) ? owner : null;
};

const held = (path: string, mine: LockOwner, replaced: LockOwner | null): Locking => ({
  kind: 'held',
  replaced,
  keep: () => {
    const found = readOwner(path);
    // Somebody wrote into it who is no Spool.
    if (found?.id === unreadable) rmSync(path, { force: true });
    if (found === null || found.id === unreadable) link(path, mine);
    const owner = readOwner(path);
    return owner?.id === mine.id ? null : owner;
  },
  beat: () => {
    const now = new Date();
    try {
      utimesSync(path, now, now);
    } catch {
      // It is gone: `keep` puts it back.
    }
  },
  release: () => {
    if (readOwner(path)?.id === mine.id) rmSync(path, { force: true });
  },
});

/** False when the lock is there already. */
const link = (path: string, mine: LockOwner): boolean => {
  const draft = draftOf(path, mine);
  try {
    writeFileSync(draft, JSON.stringify(mine), { mode: 0o600 });
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
};

const draftOf = (path: string, mine: LockOwner) => `${path}.${mine.id}.draft`;

/** False when somebody else was faster; then the lock has to be looked at again. */
const replaceDead = (path: string, dead: LockOwner, mine: LockOwner): boolean => {
  const turn = acquireLock(`${path}.${dead.id}`, mine.purpose);
  if (turn.kind === 'taken') return false;
  try {
    if (readOwner(path)?.id !== dead.id) return false;
    const draft = draftOf(path, mine);
    writeFileSync(draft, JSON.stringify(mine), { mode: 0o600 });
    renameSync(draft, path);
    return true;
  } finally {
    turn.release();
  }
};

const unreadable = 'unreadable';

const newOwner = (purpose: string): LockOwner => ({
  id: crypto.randomUUID(),
  pid: process.pid,
  start: processStart(process.pid),
  host: hostName(),
  since: new Date().toISOString(),
  purpose,
});

/** A process of another host, or of another container, cannot be looked at: it lives as long as its heart beats. */
const isAlive = (path: string, owner: LockOwner): boolean =>
  isHere(owner) ? processStart(owner.pid) === owner.start : ageOf(path) < silenceMs;

const isHere = ({ host }: LockOwner) => host === hostName() || host === hostname();

/** How long the heart of an owner elsewhere may be silent: much longer than two clocks differ. */
const silenceMs = 10 * 60_000;

const ageOf = (path: string): number => {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? Date.now() - stats.mtimeMs : Infinity;
};

/** The machine, and on Linux the space of process ids in which a pid means something. */
export const hostName = (): string => {
  const space = process.platform === 'linux' ? pidSpace() : null;
  return space === null ? hostname() : `${hostname()} (${space})`;
};

const pidSpace = (): string | null => {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return null;
  }
};

/** null when the file is gone. A file that holds no owner is nobody's. */
const readOwner = (path: string): LockOwner | null => {
  let saved: string;
  try {
    saved = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    return atPath(path)(error);
  }
  try {
    const owner = ownerIn(JSON.parse(saved));
    if (owner) return owner;
  } catch {
    // Falls through: not one of ours.
  }
  return { id: unreadable, pid: 0, start: 'none', host: hostName(), since: '', purpose: '' };
};

const ownerIn: Shape<LockOwner> = object<LockOwner>({
  id: required(matching(/^[\da-f-]{36}$/)),
  pid: required(count),
  // Missing is not null: that is what a process has that is gone.
  start: wrongIs('', orNull(text)),
  host: required(text),
  since: wrongIs('', text),
  purpose: wrongIs('', text),
});
