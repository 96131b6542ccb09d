import { existsSync } from 'node:fs';
import { whyNoGit } from '../../git/call/guards.ts';
import { isDetached, isIntact, operationInProgress, type WorkTree } from '../../git/work-tree.ts';
import type { Redactor } from '../../secrets/redact.ts';
import type { RunContext } from '../context.ts';
import type { Snapshots } from './snapshots.ts';

/** Returns whether .git was deleted. */
export const isGone = (tree: WorkTree) => !isIntact(tree) || !existsSync(tree.gitDir);

/** Returns a function that reports why git failed. A permanent problem is reported once. */
export const createProblemReporter = (
  tree: WorkTree,
  { emit, redactor }: Pick<RunContext, 'emit' | 'redactor'>,
): ((snapshots: Snapshots) => Promise<void>) => {
  let isAnnounced = false;
  return async (snapshots) => {
    const why = await whyNoGit(tree.root);
    const last = isGone(tree) ? gone : why && refused(redactor.oneLine(why));
    if (last === null) return emit({ type: 'notice', text: unreadable(snapshots, redactor) });
    if (!isAnnounced) emit({ type: 'notice', text: last });
    isAnnounced = true;
  };
};

const unreadable = (snapshots: Snapshots, redactor: Redactor): string => {
  const why = snapshots.problem();
  const text = 'git cannot read the work tree: no checkpoint or commit for this iteration.';
  return why === null ? text : `${text} git says: ${redactor.oneLine(why)}`;
};

const refused = (why: string): string =>
  `${why}: changes are no longer tracked or committed. Fix it, then start again.`;

export const gone = '.git was deleted: changes are no longer tracked or committed.';

export const warnIfDetached = (tree: WorkTree, emit: RunContext['emit']): void => {
  // Does not run git. Nothing is committed during a rebase.
  if (!isDetached(tree) || operationInProgress(tree) !== null) return;
  emit({
    type: 'notice',
    text: 'Detached HEAD: commits are not on a branch. To keep them: git switch -c <name>',
  });
};
