import { hostname } from 'node:os';
import { branchOf } from '../../changes/branch.ts';
import { deletePublished, fetchRun, type FetchedRun, recordLanding } from '../../cluster/fetch-run.ts';
import { findQueued, isActive, type ListedChange } from '../../cluster/queue.ts';
import { userError } from '../../errors.ts';
import type { ChangeRef } from '../../store/change-ref.ts';
import { readLanded } from '../../store/landed.ts';
import { lockChange } from '../../store/run-lock.ts';
import { readState } from '../../store/state.ts';
import { commandLine } from '../../text/shell-words.ts';
import { senderOf } from './queue.ts';
import type { Invocation } from '../registry/command.ts';
import { keyOf, localRun, type ProjectQueue, queuedChange, tryProjectQueue, withProjectQueue } from './queued.ts';

/** A run on other machines whose branch and state are here now. */
export interface FetchedChange {
  readonly url: string;
  readonly row: ListedChange;
  readonly run: FetchedRun;
}

/**
 * Fetches a change that workers have completed, so that it can land like one that was run here. Returns null if this
 * checkout knows more about it than the queue. Throws if it is not complete, unless it is forced to land.
 */
export const fetchCompleted = async (
  url: string,
  of: ChangeRef,
  { force, terminal }: { readonly force: boolean } & Pick<Invocation, 'terminal'>,
): Promise<FetchedChange | null> => {
  const { project, change } = of;
  if ((await localRun(project, change)).isRunning) return null;
  const instead = 'Only a run of this checkout can land.';
  return tryProjectQueue(url, { project, terminal, instead }, async (queue) => {
    const row = (await queuedChange(queue, project, change)) ?? (await fetchedBefore(queue, of));
    if (row === null) return null;
    if (isActive(row)) throw userError('in-queue', change, stateText(row), commandLine('spool', 'stop', change));
    if (row.state !== 'complete' && !force) throw userError('not-complete', change, stateText(row));
    if (row.fence === null) throw userError('not-fetched', change, row.detail ?? 'no worker has pushed anything');
    const lock = lockChange(project, change, { treeFolder: null, command: 'land' });
    try {
      const run = await fetchRun(row, of, queue.remote);
      if ('why' in run) throw userError('not-fetched', change, run.why);
      return { url, row, run };
    } finally {
      lock.release();
    }
  });
};

/** A completed run that is here already, because it was fetched by a landing that did not succeed. */
const fetchedBefore = async (queue: ProjectQueue, { project, change }: ChangeRef): Promise<ListedChange | null> => {
  const row = await findQueued(queue.database, keyOf(queue, change));
  const view = await readState(project, change);
  const isSame = row?.state === 'complete' && view?.status === 'complete' && view.run === row.run;
  return isSame && !row.detail?.startsWith('landed ') ? row : null;
};

const stateText = ({ state, host, detail, iteration }: ListedChange): string => {
  const where = host === null ? '' : ` on ${host}`;
  const at = iteration === null ? '' : `, iteration ${iteration}`;
  return `${state}${where}${at}${detail === null ? '' : `, ${detail}`}`;
};

/**
 * Called after a landing. Deletes the branch and the state on the remote if it has landed, and says so in the queue.
 * Returns a sentence; null if it has not landed.
 */
export const concludeLanding = async (
  { url, row, run }: FetchedChange,
  { project, env }: ChangeRef,
  { since, keepBranch }: { readonly since: Date; readonly keepBranch: boolean },
): Promise<string | null> => {
  const landed = readLanded(project, row.id);
  if (landed === null || Date.parse(landed.at) < since.getTime()) return null;
  const problem = keepBranch ? null : await deletePublished(run, row.id);
  const detail = `landed on ${landed.base} by ${senderOf(env, hostname())}`;
  await withProjectQueue(url, project, ({ database }) => recordLanding(database, row, { fence: run.fence, detail }));
  const branch = branchOf(row.id);
  if (keepBranch) return `The remote keeps ${branch}.`;
  return problem === null
    ? `Deleted ${branch} and the state of its run on the remote.`
    : `The remote keeps ${branch}: ${problem}.`;
};
