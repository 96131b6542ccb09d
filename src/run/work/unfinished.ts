import { setTimeout as delay } from 'node:timers/promises';
import { dirname } from 'node:path';
import { removeSafely } from '../../files/safe.ts';
import { headOf } from '../../git/branches.ts';
import { headOfWork, treeOf } from '../../git/checkpoint.ts';
import { planRewind, rewind } from '../../git/rewind.ts';
import { snapshotTree } from '../../git/snapshot/trees.ts';
import type { WorkTree } from '../../git/work-tree.ts';
import { newTempIndex } from '../../store/folders.ts';
import { someOf } from '../../text/format.ts';
import { toUtf8 } from '../../git/call/git.ts';
import type { RunContext } from '../context.ts';
import type { WorkTracker } from './track.ts';

/*
 * What an agent has done in an iteration that never finishes is lost with its machine. So the files are saved while it
 * works, and a worker that continues the run starts with them.
 */

/** Saves the files again and again while an agent works. */
export const saveWhile = async <Result>(
  { cluster }: Pick<RunContext, 'cluster'>,
  tracker: Pick<WorkTracker, 'save'>,
  work: () => Promise<Result>,
): Promise<Result> => {
  if (cluster === null) return work();
  const ended = new AbortController();
  const saving = (async () => {
    for (;;) {
      await delay(cluster.checkpointMs, undefined, { signal: ended.signal, ref: false }).catch(() => {});
      if (ended.signal.aborted) return;
      const commit = await tracker.save().catch(() => null);
      if (commit !== null && !ended.signal.aborted) await cluster.checkpoint(commit).catch(() => {});
    }
  })();
  try {
    return await work();
  } finally {
    ended.abort();
    await saving;
  }
};

type RestoreContext = Pick<RunContext, 'cluster' | 'emit' | 'redactor' | 'env'> & { readonly tree: WorkTree | null };

/** Restores the files that an interrupted iteration had on another machine. */
export const restoreWork = async ({ cluster, tree, emit, redactor, env }: RestoreContext): Promise<void> => {
  const work = cluster?.work ?? null;
  if (work === null || tree === null) return;
  const say = (text: string) => emit({ type: 'notice', text });
  const treeId = await treeOf(tree, work);
  if (treeId === null || (await headOfWork(tree, work)) !== (await headOf(tree.root)))
    return say('The branch has changed since the interrupted iteration, so its unfinished work is not restored.');
  const own = { ...tree, tempIndex: newTempIndex(env) };
  try {
    const present = await snapshotTree(own, { redactor });
    const plan = present && (await planRewind(own, present, treeId));
    if (plan === null) return say('git cannot restore the unfinished work of the interrupted iteration.');
    const failed = new Set(await rewind(own, treeId, { plan, redactor }));
    const names = plan.changes.map(({ name }) => toUtf8(name)).filter((name) => !failed.has(name));
    if (names.length > 0) say(`Restored from the interrupted iteration: ${someOf(names)}.`);
    if (failed.size > 0) say(`Not restored: ${someOf([...failed])}.`);
  } finally {
    removeSafely(dirname(own.tempIndex));
  }
};
