import { dirname, join } from 'node:path';
import { branchOf } from '../changes/branch.ts';
import { git } from '../git/call/git.ts';
import { checkpointRefs } from '../git/checkpoint.ts';
import { reasonFor } from '../git/outcome.ts';
import { fetchRefs, inMirror, type Remote } from '../git/remote.ts';
import { readStoredFiles } from '../git/stored-files.ts';
import { isFolderInside } from '../files/inside.ts';
import { folderNames } from '../files/read.ts';
import { removeSafely } from '../files/safe.ts';
import { tagForPath } from '../process/tree.ts';
import type { Project } from '../store/project.ts';
import { writeTransferred } from '../store/transfer.ts';
import { userRecordFolder } from '../store/user-record/folder.ts';
import { type HeldFence, keyOf, startsAnew } from './fence.ts';

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
  const { claim, note } = held;
  const { base, folder } = claim.request;
  const top = join(folders.changes, `${keyOf(claim.id)}-${claim.epoch}`);
  removeSafely(top);
  const unfetched = await fetchRefs(remote, [`+refs/heads/${base.branch}:refs/heads/${base.branch}`], {
    kill: stop,
  });
  if (unfetched !== null) return { why: unfetched, isTemporary: !/couldn't find remote ref/.test(unfetched) };
  const failed = (why: string) => ({ why, isTemporary: false });
  if (!(await hasCommit(remote, base.commit)))
    return failed(
      `${base.branch} on the remote does not have ${base.commit.slice(0, 7)} any more, from which it starts: queue it again`,
    );
  const problem = await checkOut(remote, { top, held });
  if (problem !== null) return failed(problem);
  const project = { root: join(top, folder) };
  if (!isFolderInside(top, folder)) return failed(`${folder} is not in ${base.branch}`);
  if (startsAnew(claim)) return { project, top };
  const files = await readStoredFiles(remote.mirror, held.commit);
  if (files === null) return failed('the state of the run cannot be read');
  writeTransferred({ project, change: claim.id, env }, files);
  const restored = await checkpointRefs(top, claim.id, note.checkpoints);
  return restored === null ? { project, top } : failed(restored);
};

const hasCommit = async ({ mirror }: Remote, commit: string): Promise<boolean> =>
  (await git(['cat-file', '-e', `${commit}^{commit}`], inMirror(mirror))).code === 0;

/** Returns the reason if it fails. */
const checkOut = async (
  { mirror }: Remote,
  { top, held }: { readonly top: string; readonly held: HeldFence },
): Promise<string | null> => {
  const { claim, tip } = held;
  const { branch, commit } = claim.request.base;
  const steps: readonly (readonly [Parameters<typeof git>[0], string])[] = [
    [['clone', '--quiet', '--shared', '--no-checkout', '--no-tags', '--', mirror, top], mirror],
    [['config', '--remove-section', 'remote.origin'], top],
    [['switch', '--quiet', '--force-create', branch, commit], top],
    ...(tip === null || startsAnew(claim)
      ? []
      : [[['update-ref', `refs/heads/${branchOf(claim.id)}`, tip], top] as const]),
  ];
  for (const [args, cwd] of steps) {
    const result = await git(args, { cwd, config: ['protocol.file.allow=always', 'core.hooksPath=/dev/null'] });
    if (result.code !== 0) return reasonFor(result);
  }
  return null;
};

/** Deletes a clone with everything that the machine remembers about its runs. */
export const removeClone = ({ project, top }: Clone, env: NodeJS.ProcessEnv): void => {
  removeSafely(dirname(userRecordFolder(project, '_', env)));
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
