import { join } from 'node:path';

/** Relative to a root. */
export const changesPath = join('.spool', 'changes');
export const archivePath = join(changesPath, 'archive');
export const modulesPath = join('.spool', 'modules');
export const specsPath = join('.spool', 'specs');
