import { sha256 } from '@noble/hashes/sha2.js';
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { entriesOf } from '../../files/folders.ts';
import { userFolder } from '../../files/home.ts';
import { realPath } from '../../process/which.ts';
import { userRunsFolder } from '../paths.ts';
import type { Project } from '../project.ts';

/*
 * The user state: what Spool knows about the runs of a change, in the user's state folder. An agent can write to the
 * project, and a clone contains what others wrote, so everything that decides something is compared with it first.
 */

/** Named after the real path of the project, so that every project has its own. */
export const userStateFolder = (project: Project, change: string, env: NodeJS.ProcessEnv): string =>
  join(userFolder(env), 'projects', nameOf(project), change);

const nameOf = (project: Project): string => {
  const root = realPath(project.root);
  const name = names.get(root) ?? `${shortened(basename(root))}-${idOf(root)}`;
  names.set(root, name);
  return name;
};

/** By real path. */
const names = new Map<string, string>();

const idOf = (root: string): string =>
  Buffer.from(sha256(Buffer.from(root)))
    .toString('hex')
    .slice(0, 16);

/** In bytes. File systems allow 255. */
const maxName = 200;

const shortened = (name: string): string => (Buffer.byteLength(name) <= maxName ? name : name.slice(0, maxName / 4));

/** Whether other changes of the same project were run here. */
export const hasOtherRuns = (folder: string): boolean =>
  entriesOf(dirname(folder)).some(
    ({ name }) => name !== basename(folder) && existsSync(userRunsFolder(join(dirname(folder), name))),
  );
