import { lstatSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { changesBetween } from '../../git/changes.ts';
import { listCheckpoints, treeOf } from '../../git/checkpoint.ts';
import { statsOf } from '../../git/git.ts';
import type { WorkTree } from '../../git/worktree.ts';
import { fileOf, type WorldParts } from './parts.ts';

/** What has changed since an iteration began that was cut off; names as git gave them. */
export interface LeftBehind {
  /** Changed while Spool watched the agent. */
  readonly own: readonly string[];
  /** Changed later, by an agent that outlived Spool or by a person. */
  readonly unsure: readonly string[];
}

/**
 * `last` is the tree of the last checkpoint, `now` that of the work tree. A file whose last change, which nobody can
 * date back, is older than the last that Spool wrote into the log was changed while the agent worked.
 */
export const leftBehind = async (
  { plan, folder }: Pick<WorldParts, 'plan' | 'folder'>,
  tree: WorkTree,
  { last, now }: { last: string; now: string },
): Promise<LeftBehind> => {
  const checkpoints = await listCheckpoints(tree, plan.change, plan.run);
  const before = checkpoints.find(({ name }) => name === `before-${plan.firstIteration}`);
  const began = (before && (await treeOf(tree, before.commit))) ?? last;
  const changes = began === now ? [] : ((await changesBetween(tree, [began, now], { renames: false })) ?? []);
  const names = changes.filter(({ nested }) => !nested).map(({ name }) => name);
  const log = statSync(join(folder, fileOf(plan.firstIteration, 'log')), { throwIfNoEntry: false });
  const isOwn = (name: string) => log !== undefined && statsNear(tree.root, name).ctimeMs <= log.mtimeMs;
  return { own: names.filter(isOwn), unsure: names.filter((name) => !isOwn(name)) };
};

/** Of a file, or of the folder from which it was deleted. */
const statsNear = (root: string, name: string): Stats => {
  const stats = statsOf(root, name);
  if (stats !== undefined) return stats;
  const folder = dirname(name);
  return folder === '.' ? lstatSync(root) : statsNear(root, folder);
};
