// What the processes of the agents of a run use. Linux only: elsewhere there are none.
import { readdirSync, readFileSync } from 'node:fs';

/** @param {string} path */
const read = (path) => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
};

/** Those with this HOME that Spool has marked. @param {string} home @returns {number[]} */
export const agentProcesses = (home) => {
  const pids = process.platform === 'linux' ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  return pids
    .filter((pid) => {
      const variables = read(`/proc/${pid}/environ`).split('\0');
      return variables.includes(`HOME=${home}`) && variables.some((each) => each.startsWith('SPOOL_ITERATION='));
    })
    .map(Number);
};

/** In MB. Memory that several of them share counts once. @param {readonly number[]} pids */
export const memoryOf = (pids) => {
  const sizes = pids.map((pid) => Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0));
  return sizes.reduce((sum, size) => sum + size, 0) / 1024;
};

/** The number of open files, sockets and pipes. @param {readonly number[]} pids */
export const descriptorsOf = (pids) =>
  pids.reduce((sum, pid) => {
    try {
      return sum + readdirSync(`/proc/${pid}/fd`).length;
    } catch {
      return sum;
    }
  }, 0);
