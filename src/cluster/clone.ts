import { dirname, join } from 'node:path';
import { branchOf } from '../changes/branch.ts';
import { checkpointRefs } from '../git/checkpoint.ts';
import { fetchRefs, type Remote } from '../git/remote.ts';
import { cloneMirror, mirrorHasCommit } from '../git/mirror.ts';
import { readStoredFiles } from '../git/stored-files.ts';
import { isFolderInside } from '../files/inside.ts';
import { folderNames } from '../files/read.ts';
import { removeSafely } from '../files/safe.ts';
import { tagForPath } from '../process/tree.ts';
import type { Project } from '../store/project.ts';
import { writeTransferred } from '../store/transfer.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { type HeldFence, keyOf, startsNewRun } from './fence.ts';

/** Where a worker keeps what belongs to one repository. */
export interface WorkerFolders {
  /** Contains the mirror. */
  readonly repository: string;
  /** Contains one clone for each change that the worker runs. */
  readonly changes: string;
}

export interface Clone {
  readonly project: Project;
  /** The top folder of the clone. */
  readonly top: string;
}

export interface CloneOptions {
  readonly held: HeldFence;
  readonly env: NodeJS.ProcessEnv;
  /** Aborted to give up fetching. */
  readonly stop: AbortSignal;
}

/**
 * Creates a clone for one attempt, at the commit from which the change starts, with the branch and the state that the
 * previous owner has pushed. It shares the objects of the mirror and has no remote, so that an agent pushes nothing by
 * accident. Returns the reason as `why` if that fails; `isTemporary` if the remote cannot be reached.
 */
export const openClone = async (
  remote: Remote,
  folders: WorkerFolders,
  { held, env, stop }: CloneOptions,
): Promise<Clone | { readonly why: string; readonly isTemporary: boolean }> => {
  const { claim, data } = held;
  const { base, folder } = claim.request;
  const top = join(folders.changes, `${keyOf(claim.id)}-${claim.epoch}`);
  removeSafely(top);
  const unfetched = await fetchRefs(remote, [`+refs/heads/${base.branch}:refs/heads/${base.branch}`], {
    kill: stop,
  });
  if (unfetched !== null) return { why: unfetched, isTemporary: !/couldn't find remote ref/.test(unfetched) };
  const failed = (why: string) => ({ why, isTemporary: false });
  if (!(await mirrorHasCommit(remote, base.commit)))
    return failed(
      `${base.branch} on the remote no longer contains ${base.commit.slice(0, 8)}, from which the change starts: queue it again`,
    );
  const problem = await cloneMirror(remote, {
    folder: top,
    ...base,
    other: held.tip === null || startsNewRun(claim) ? null : { branch: branchOf(claim.id), commit: held.tip },
  });
  if (problem !== null) return failed(problem);
  const project = { root: join(top, folder) };
  if (!isFolderInside(top, folder)) return failed(`${folder} is not in ${base.branch}`);
  if (startsNewRun(claim)) return { project, top };
  const files = await readStoredFiles(remote.mirror, held.commit);
  if (files === null) return failed('the state of the run cannot be read');
  writeTransferred({ project, change: claim.id, env }, files);
  const restored = await checkpointRefs(top, claim.id, data.checkpoints);
  return restored === null ? { project, top } : failed(restored);
};

/** Deletes a clone with everything that the machine remembers about its runs. */
export const removeClone = ({ project, top }: Clone, env: NodeJS.ProcessEnv): void => {
  removeSafely(dirname(userStateFolder(project, '_', env)));
  removeSafely(top);
};

/** The clones of other changes, of this repository and of others that the worker works for. */
export const clonesBeside = ({ repository }: WorkerFolders, { top }: Pick<Clone, 'top'>): string[] => {
  const all = dirname(repository);
  const clones = folderNames(all).flatMap((name) => {
    const changes = join(all, name, 'changes');
    return folderNames(changes).map((each) => join(changes, each));
  });
  return clones.filter((each) => each !== top);
};

/** Marks the processes of an attempt. */
export const tagOf = ({ top }: Pick<Clone, 'top'>): string => tagForPath(top);
