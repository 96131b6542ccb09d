import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { branchOf } from '../changes/ids.ts';
import { git } from '../git/call/git.ts';
import { checkpointRefs } from '../git/checkpoint.ts';
import { reasonFor } from '../git/outcome.ts';
import { fetchRefs, type Remote } from '../git/remote.ts';
import { readStoredFiles } from '../git/stored-files.ts';
import { folderNames } from '../files/read.ts';
import { removeSafely } from '../files/safe.ts';
import { tagForPath, terminateLeftovers } from '../process/tree.ts';
import type { Project } from '../store/project.ts';
import { writeTransferred } from '../store/transfer.ts';
import { userRecordFolder } from '../store/user-record/folder.ts';
import type { Sql } from './database.ts';
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

/**
 * Creates a clone for one attempt, at the commit from which the change starts, with the branch and the state that the
 * previous owner has pushed. It shares the objects of the mirror and has no remote, so that an agent pushes nothing by
 * accident. Returns the reason as `why` if that fails; `isTemporary` if the remote cannot be reached.
 */
export const openClone = async (
  remote: Remote,
  folders: WorkerFolders,
  { held, env }: { readonly held: HeldFence; readonly env: NodeJS.ProcessEnv },
): Promise<Clone | { readonly why: string; readonly isTemporary: boolean }> => {
  const { claim, note } = held;
  const { base, folder } = claim.request;
  const top = join(folders.changes, `${keyOf(claim.id)}-${claim.epoch}`);
  removeSafely(top);
  const unfetched = await fetchRefs(remote, [`+refs/heads/${base.branch}:refs/heads/${base.branch}`]);
  if (unfetched !== null) return { why: unfetched, isTemporary: !/couldn't find remote ref/.test(unfetched) };
  const failed = (why: string) => ({ why, isTemporary: false });
  const problem = await checkOut(remote, { top, held });
  if (problem !== null) return failed(problem);
  const project = { root: join(top, folder) };
  if (!existsSync(project.root)) return failed(`${folder} is not in ${base.branch}`);
  if (startsAnew(claim)) return { project, top };
  const files = await readStoredFiles(remote.mirror, held.commit);
  if (files === null) return failed('the state of the run cannot be read');
  writeTransferred({ project, change: claim.id, env }, files);
  const restored = await checkpointRefs(top, claim.id, note.checkpoints);
  return restored === null ? { project, top } : failed(restored);
};

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

/** Marks the processes of an attempt. */
export const tagOf = ({ top }: Pick<Clone, 'top'>): string => tagForPath(top);

/** Ends the processes of agents that a killed worker has left. No other worker uses its folder. */
export const endLeftAgents = async (folders: WorkerFolders): Promise<number> => {
  let ended = 0;
  for (const name of folderNames(folders.changes))
    ended += await terminateLeftovers(tagOf({ top: join(folders.changes, name) }));
  return ended;
};

/** Deletes the clones that a killed worker has left, except those with work that could not be pushed. */
export const removeLeftClones = async (
  sql: Sql,
  { folders, project }: { readonly folders: WorkerFolders; readonly project: string },
  env: NodeJS.ProcessEnv,
): Promise<void> => {
  const failed = await sql.query<{ id: string; epoch: number }>(
    `select id, epoch from spool.change where project = $1 and state = 'failed'`,
    [project],
  );
  const kept = new Set(failed.map(({ id, epoch }) => `${keyOf(id)}-${epoch}`));
  for (const name of folderNames(folders.changes).filter((each) => !kept.has(each))) {
    const top = join(folders.changes, name);
    removeClone({ project: { root: top }, top }, env);
  }
};

/** Deletes the clones of earlier attempts at a change, which a killed worker has left. */
export const removeOlderClones = (
  folders: WorkerFolders,
  { id, epoch }: { id: string; epoch: number },
  env: NodeJS.ProcessEnv,
): void => {
  const prefix = `${keyOf(id)}-`;
  for (const name of folderNames(folders.changes)) {
    const number = Number(name.slice(prefix.length));
    if (!name.startsWith(prefix) || !Number.isSafeInteger(number) || number >= epoch) continue;
    const top = join(folders.changes, name);
    removeClone({ project: { root: top }, top }, env);
  }
};
