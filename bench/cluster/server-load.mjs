// What a Postgres server costs, from /proc: its main process and the processes that it has started.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ticksPerSecond = 100;

/** @param {string} folder The folder of the server. */
export const serverLoad = (folder) => {
  const main = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0] ?? '';
  return {
    /** CPU time so far in milliseconds, with that of processes that have exited. */
    cpuMs: () => {
      let ticks = 0;
      for (const { pid, fields } of processesOf(main)) {
        ticks += Number(fields[11]) + Number(fields[12]);
        if (pid === main) ticks += Number(fields[13]) + Number(fields[14]);
      }
      return (ticks * 1000) / ticksPerSecond;
    },
    /** Memory in MB, with the share of each process in what they share. */
    memoryMb: () => {
      let kilobytes = 0;
      for (const { pid } of processesOf(main))
        kilobytes += Number(/^Pss:\s+(\d+)/m.exec(textOf(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
      return kilobytes / 1024;
    },
  };
};

/** @param {string} main */
const processesOf = (main) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      const stat = textOf(`/proc/${pid}/stat`);
      return { pid, fields: stat.slice(stat.lastIndexOf(')') + 2).split(' ') };
    })
    .filter(({ pid, fields }) => pid === main || fields[1] === main);

/** @param {string} path */
const textOf = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // It has exited.
    return '';
  }
};
