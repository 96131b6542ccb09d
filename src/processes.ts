import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * When a process started, as a text that is equal only for the same process; null when it is gone.
 * A process id alone may have been given to another process since. A zombie counts as gone.
 */
export const processStart = (pid: number): string | null => {
  if (process.platform === 'linux') {
    const stat = readProc(`/proc/${pid}/stat`);
    // The name in parentheses may hold anything; state and start time are the 1st and 20th field behind it.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
    return !fields || fields[0] === 'Z' || fields[0] === 'X' ? null : `${bootId()}/${fields[19]}`;
  }
  if (process.platform === 'win32') return isThere(pid) ? 'unknown' : null;
  try {
    const lstart = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', env: { LC_ALL: 'C' } });
    return lstart.trim() || null;
  } catch {
    return null;
  }
};

/** What to look for: the process group that an agent leads, and the variable that all its children carry. */
export interface Family {
  readonly group: number;
  readonly tag: string;
}

/** The variable that marks every process of an iteration, also those in sessions of their own. */
export const tagVariable = 'SPOOL_ITERATION';

/** Asks every process of the family to end, and kills what has not ended when `graceMs` are over. */
export const endFamily = async (family: Family, graceMs: number): Promise<void> => {
  const deadline = performance.now() + graceMs;
  if (signalFamily(family, 'SIGTERM') === 0) return;
  while (familyMembers(family).length > 0 && performance.now() < deadline) await delay(20);
  while (signalFamily(family, 'SIGKILL') > 0) await delay(5);
};

/** Sends a signal to each process of the family; says how many there were. */
export const signalFamily = (family: Family, signal: NodeJS.Signals): number => {
  const members = familyMembers(family);
  for (const pid of members) send(pid, signal);
  return members.length;
};

const familyMembers = ({ group, tag }: Family): number[] => {
  if (process.platform !== 'linux') return isThere(-group) ? [-group] : [];
  const mark = `${tagVariable}=${tag}`;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && (isInGroup(pid, group) || carries(pid, mark)));
};

const isInGroup = (pid: number, group: number): boolean => {
  const stat = readProc(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields !== undefined && fields[0] !== 'Z' && fields[0] !== 'X' && Number(fields[2]) === group;
};

const carries = (pid: number, mark: string): boolean =>
  readProc(`/proc/${pid}/environ`)?.split('\0').includes(mark) ?? false;

/** null when the process is gone or not ours to look at. */
const readProc = (path: string): string | null => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return null;
  }
};

const bootId = () => readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? '';

const isThere = (pid: number): boolean => send(pid, 0);

const send = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
