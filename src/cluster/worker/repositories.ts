import { join } from 'node:path';
import { shortHash } from '../../changes/short-hash.ts';
import { userError } from '../../errors.ts';
import { createFolder } from '../../files/folders.ts';
import { cleanMirror, openMirror } from '../../git/mirror.ts';
import type { Remote } from '../../git/remote.ts';
import type { WorkerFolders } from '../clone.ts';
import type { WorkerOptions } from './options.ts';

export interface Repository {
  readonly remote: Remote;
  readonly folders: WorkerFolders;
}

/** Opens the mirrors of the repositories, by the key of their project in the queue. */
export const openRepositories = async ({ repositories, folder }: WorkerOptions): Promise<Map<string, Repository>> => {
  const opened = new Map<string, Repository>();
  for (const { project, url } of repositories) {
    const repository = join(folder, folderName(project));
    const folders = { repository, changes: join(repository, 'changes') };
    createFolder(folders.changes);
    const remote = { mirror: join(repository, 'mirror.git'), url };
    cleanMirror(remote);
    const problem = await openMirror(remote, repository);
    if (problem !== null) throw userError('io', remote.mirror, problem);
    opened.set(project, { remote, folders });
  }
  return opened;
};

/** Readable, and different for two projects with the same last name. */
const folderName = (project: string): string =>
  `${project
    .split('/')
    .at(-1)
    ?.replaceAll(/[^\w.-]/g, '-')}-${shortHash(project)}`;
