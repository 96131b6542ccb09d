import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** The processes with this variable in their environment. A zombie has none. */
export const processesWith = (variable: string): number[] => {
  if (process.platform !== 'linux') return listedWith(variable);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(`/proc/${pid}/environ`).split('\0').includes(variable))
    .map(Number);
};

/** On macOS, ps prints the environment after the command. */
const listedWith = (variable: string): number[] =>
  execFileSync('ps', ['-A', '-E', '-ww', '-o', 'pid=,command='], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
    .split('\n')
    .filter((line) => line.split(' ').includes(variable))
    .map((line) => Number.parseInt(line, 10));

/** Kills them. Some may have exited in the meantime. */
export const killProcessesWith = (variable: string): void => {
  for (const pid of processesWith(variable)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
};

/** Whether SIGSTOP or Ctrl-Z has stopped a process. */
export const isStopped = (pid: number): boolean =>
  execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('T');

const read = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
};
