import { join } from 'node:path';

/** Relative to a root. `base` is `.spool`, or the folder of a tree with the same layout. */
export const changesIn = (base: string) => join(base, 'changes');
export const archiveIn = (base: string) => join(changesIn(base), 'archive');
export const specsIn = (base: string) => join(base, 'specs');
export const modulesIn = (base: string) => join(base, 'modules');

export const changesPath = changesIn('.spool');
export const modulesPath = modulesIn('.spool');
