import { descendantsOf, readProcesses } from './process-table.ts';
import { readProc } from './start-time.ts';

/**
 * Returns the memory of a process and its descendants in bytes; null if it is unknown. Memory that several of them share
 * counts once, where the system tells.
 */
export const memoryOf = (rootPid: number): number | null => {
  if (process.platform !== 'linux') return null;
  const all = readProcesses();
  const members = [rootPid, ...descendantsOf(rootPid, all)].filter((pid) => all.has(pid));
  const sizes = members.map(bytesOf).filter((bytes) => bytes !== null);
  return sizes.length === 0 ? null : sizes.reduce((sum, bytes) => sum + bytes, 0);
};

const kibibyte = 1024;

const bytesOf = (pid: number): number | null => {
  const pss = /^Pss:\s+(\d+) kB/m.exec(readProc(`/proc/${pid}/smaps_rollup`) ?? '')?.[1];
  const size = pss ?? /^VmRSS:\s+(\d+) kB/m.exec(readProc(`/proc/${pid}/status`) ?? '')?.[1];
  return size === undefined ? null : Number(size) * kibibyte;
};
