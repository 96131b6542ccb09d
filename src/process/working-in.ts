import { readlinkSync } from 'node:fs';
import { processIds } from './tree.ts';

/** Returns the processes that work in a folder or below it, regardless of who started them. Linux only; elsewhere none. */
export const processesIn = (folder: string): number[] =>
  processIds().filter((pid) => {
    try {
      return `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${folder}/`);
    } catch {
      return false;
    }
  });
