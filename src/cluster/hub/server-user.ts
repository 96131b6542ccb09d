import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { giveTo } from '../../files/give-to.ts';
import type { ServiceCommand } from '../../process/service.ts';

/*
 * Postgres refuses to run as root. It runs as another user then, or, if that user cannot reach its programs or its
 * data, in a namespace where root is not root.
 */

const nobody = 65_534;

const isRoot = () => process.getuid?.() === 0;

/** Where a server is, and one of its programs. */
export interface ServerFiles {
  readonly folder: string;
  readonly program: string;
}

/**
 * Makes the user of the server the owner of its folder, or of a file in it: no other user may read its key and its
 * data.
 */
export const giveToServer = (path: string, files: ServerFiles): void => {
  if (usesNobody(files)) giveTo(path, nobody);
};

/** Takes a file back that only the creation of the data had to read. */
export const takeFromServer = (path: string): void => {
  if (isRoot()) giveTo(path, 0);
};

/** Returns the command of a program of the server, for the user that it runs as. */
export const asServer = (
  { program, args }: Pick<ServiceCommand, 'program' | 'args'>,
  folder: string,
): Pick<ServiceCommand, 'program' | 'args' | 'uid'> => {
  if (!isRoot()) return { program, args, uid: null };
  if (usesNobody({ folder, program })) return { program, args, uid: nobody };
  return { program: 'unshare', args: ['--user', program, ...args], uid: null };
};

const usesNobody = ({ folder, program }: ServerFiles): boolean =>
  isRoot() && isReachable(dirname(folder)) && isReachable(program);

/** Whether every user can enter all folders on the way. */
const isReachable = (path: string): boolean => {
  for (let part = path; ; part = dirname(part)) {
    const stats = statSync(part, { throwIfNoEntry: false });
    if (stats !== undefined && (stats.mode & 0o001) === 0) return false;
    if (dirname(part) === part) return true;
  }
};
