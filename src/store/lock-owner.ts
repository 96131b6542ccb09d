import { readlinkSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { readSafely } from '../files/safe.ts';
import { statsOf } from '../files/read.ts';
import { stampOf } from '../files/stamp.ts';
import { parseJsonText } from '../text/json.ts';
import { isAlive as isProcess, processStart } from '../process/start-time.ts';
import { count, isoTime, matching, object, oneOf, required, type Shape, text, withFallback } from '../text/shape.ts';

export interface LockOwner {
  readonly id: string;
  readonly pid: number;
  /** Empty if the start times of processes cannot be read. */
  readonly start: string;
  readonly host: string;
  readonly since: string;
  /** The change, or the command, that it is held for. */
  readonly purpose: string;
  /** What its owner does with a change. */
  readonly command: LockingCommand;
}

const commands = ['ralph', 'archive', 'land', 'rewind', 'publish'] as const;

export type LockingCommand = (typeof commands)[number];

/** Returns the live owner of a lock; null if it is free. A folder in its place counts as free. */
export const lockOwner = (path: string): LockOwner | null => {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return null;
  const owner = readOwner(path);
  return owner && isAlive(path, owner) ? owner : null;
};

/** Whether the last owner of a lock has died without releasing it. */
export const wasAbandoned = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isFile() === true && lockOwner(path) === null;

/** Whether the lock file is unreadable. */
export const isUnreadable = ({ id }: LockOwner): boolean => id.startsWith(unreadable);

const unreadable = 'unreadable-';

/** A process on another host or in another container cannot be inspected. It counts as alive while it renews its lock. */
export const isAlive = (path: string, owner: LockOwner): boolean =>
  isHere(owner) ? isRunning(owner) : ageOf(path) < silenceMs;

/** An owner without a start time counts only where no process has one, because process ids are reused. */
const isRunning = ({ pid, start }: LockOwner): boolean =>
  start === '' ? processStart(process.pid) === null && isProcess(pid) : processStart(pid) === start;

const isHere = ({ host }: LockOwner) => host === hostName() || host === hostname();

/** How long an owner elsewhere may take to renew its lock. Much longer than clocks differ. */
const silenceMs = 10 * 60_000;

/** A time in the future counts like one in the past, so that a lock dated ahead does not stay alive until then. */
const ageOf = (path: string): number => {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? Math.abs(Date.now() - stats.mtimeMs) : Infinity;
};

/** The host and, on Linux, the PID namespace. */
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

/** Returns null if there is no file. A file without an owner counts as one whose owner is not alive. */
export const readOwner = (path: string): LockOwner | null => {
  const saved = readSafely(path)?.toString('utf8');
  if (saved === undefined) return null;
  try {
    const owner = ownerIn(parseJsonText(saved));
    if (owner) return owner;
  } catch {
    // Spool did not write it.
  }
  return {
    // The author of a clone cannot know it in advance.
    id: unreadable + stampOf(statsOf(path)),
    pid: 0,
    start: 'none',
    host: hostName(),
    since: '',
    purpose: '',
    command: 'ralph',
  };
};

const ownerIn: Shape<LockOwner> = object<LockOwner>({
  id: required(matching(/^[\da-f-]{36}$/)),
  pid: required(count),
  start: withFallback('', text),
  host: required(text),
  since: withFallback('', isoTime),
  purpose: withFallback('', text),
  command: withFallback('ralph', oneOf(commands)),
});
