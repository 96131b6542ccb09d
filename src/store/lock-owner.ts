import { readlinkSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { readOwn } from '../files/own.ts';
import { parseJsonText } from '../text/json.ts';
import { processStart } from '../process/start-time.ts';
import { count, matching, object, orNull, required, type Shape, text, wrongIs } from '../text/shape.ts';

export interface LockOwner {
  readonly id: string;
  readonly pid: number;
  readonly start: string | null;
  readonly host: string;
  readonly since: string;
  /** What it is for, in a word. */
  readonly purpose: string;
}

/** The living owner of a lock; null when nobody holds it. Nobody can hold one that is a folder. */
export const lockOwner = (path: string): LockOwner | null => {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return null;
  const owner = readOwner(path);
  return owner && isAlive(path, owner) ? owner : null;
};

/** The id of who wrote a lock file that is none. */
export const unreadable = 'unreadable';

/** A process of another host, or of another container, cannot be looked at: it lives as long as its heart beats. */
export const isAlive = (path: string, owner: LockOwner): boolean =>
  isHere(owner) ? processStart(owner.pid) === owner.start : ageOf(path) < silenceMs;

const isHere = ({ host }: LockOwner) => host === hostName() || host === hostname();

/** How long the heart of an owner elsewhere may be silent: much longer than two clocks differ. */
const silenceMs = 10 * 60_000;

/** A time in the future is as far away as one in the past: a lock that is dated ahead does not live until then. */
const ageOf = (path: string): number => {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? Math.abs(Date.now() - stats.mtimeMs) : Infinity;
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
export const readOwner = (path: string): LockOwner | null => {
  const saved = readOwn(path)?.toString('utf8');
  if (saved === undefined) return null;
  try {
    const owner = ownerIn(parseJsonText(saved));
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
