import { readFileSync } from 'node:fs';
import { psOutput } from './ps.ts';

/**
 * Returns the start time of a process as a string that identifies the process, because process ids are reused. Returns
 * null if the process is gone. A zombie counts as gone.
 */
export const processStart = (pid: number): string | null => {
  if (process.platform === 'linux') {
    const fields = statOf(pid);
    return fields && `${bootId()}/${fields[19]}`;
  }
  if (process.platform === 'win32') return isAlive(pid) ? 'unknown' : null;
  return psOutput('-o', 'lstart=', '-p', String(pid))?.trim() || null;
};

/**
 * Returns the fields after the name (state, parent, group, …); null if the process is gone. The name is in parentheses
 * and can contain any character.
 */
export const statOf = (pid: number): string[] | null => {
  const stat = readProc(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return !fields || fields[0] === 'Z' || fields[0] === 'X' ? null : fields;
};

/** Returns null if the process is gone or belongs to another user. */
export const readProc = (path: string): string | null => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return null;
  }
};

const bootId = () => readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? '';

export const isAlive = (pid: number): boolean => sendSignal(pid, 0);

export const sendSignal = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
