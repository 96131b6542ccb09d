import { readFileSync } from 'node:fs';

/**
 * When a process started, as a text that is equal only for the same process; null when it is gone.
 * A process id alone may have been given to another process since. A zombie counts as gone.
 */
export const processStart = (pid: number): string | null => {
  if (process.platform === 'linux') {
    const fields = statOf(pid);
    return fields && `${bootId()}/${fields[19]}`;
  }
  if (process.platform === 'win32') return isThere(pid) ? 'unknown' : null;
  try {
    // Asked for when it is needed: loading it would slow down every start.
    const { execFileSync } = process.getBuiltinModule('node:child_process');
    const lstart = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', env: { LC_ALL: 'C' } });
    return lstart.trim() || null;
  } catch {
    return null;
  }
};

/** The fields behind the name, which stands in parentheses and may hold anything: state, parent, group, …; null when gone. */
export const statOf = (pid: number): string[] | null => {
  const stat = readProc(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return !fields || fields[0] === 'Z' || fields[0] === 'X' ? null : fields;
};

/** null when the process is gone or not ours to look at. */
const readProc = (path: string): string | null => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return null;
  }
};

const bootId = () => readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? '';

export const isThere = (pid: number): boolean => send(pid, 0);

export const send = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
