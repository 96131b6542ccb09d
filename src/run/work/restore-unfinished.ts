import { dirname } from 'node:path';
import { removeSafely } from '../../files/safe.ts';
import { headOf } from '../../git/branches.ts';
import { toUtf8 } from '../../git/paths.ts';
import { headOfWork, treeOf } from '../../git/checkpoint.ts';
import { planRewind, rewind } from '../../git/rewind.ts';
import { snapshotTree } from '../../git/tree-snapshots/snapshotter.ts';
import type { WorkTree } from '../../git/work-tree.ts';
import { newTempIndex } from '../../store/folders.ts';
import { someOf } from '../../text/format.ts';
import type { RunContext } from '../context.ts';

type RestoreContext = Pick<RunContext, 'emit' | 'redactor' | 'env'> & { readonly tree: WorkTree };

/** Restores the files that an interrupted iteration had on another machine, which are in the commit `work`. */
export const restoreWork = async ({ tree, emit, redactor, env }: RestoreContext, work: string): Promise<void> => {
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
