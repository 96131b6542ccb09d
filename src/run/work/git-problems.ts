import { existsSync } from 'node:fs';
import { whyNoGit } from '../../git/call/guards.ts';
import { isDetached, isIntact, operationInProgress, type WorkTree } from '../../git/work-tree.ts';
import type { Redactor } from '../../secrets/redact.ts';
import type { RunContext } from '../context.ts';
import type { Snapshots } from './snapshots.ts';

/** Returns whether .git was deleted. */
export const isGone = (tree: WorkTree) => !isIntact(tree) || !existsSync(tree.gitDir);

/** Returns a function that reports and returns why git failed in an iteration. A permanent problem is reported once. */
export const createProblemReporter = (
  tree: WorkTree,
  { emit, redactor }: Pick<RunContext, 'emit' | 'redactor'>,
): ((snapshots: Snapshots, iteration: number) => Promise<string>) => {
  let isAnnounced = false;
  return async (snapshots, iteration) => {
    const refusal = await whyNoGit(tree.root);
    const why = isGone(tree) ? goneAtEnd(tree) : refusal && redactor.oneLine(refusal);
    if (why === null) return reportUnreadable(problemOf(snapshots, redactor), { emit, iteration });
    if (!isAnnounced) emit({ type: 'notice', text: isGone(tree) ? goneText(tree) : refused(why) });
    isAnnounced = true;
    return why;
  };
};

const problemOf = (snapshots: Snapshots, redactor: Redactor): string | null => {
  const why = snapshots.problem();
  return why === null ? null : redactor.oneLine(why);
};

const reportUnreadable = (
  why: string | null,
  { emit, iteration }: Pick<RunContext, 'emit'> & { readonly iteration: number },
): string => {
  const text = 'git cannot read the work tree: no checkpoint or commit for this iteration.';
  emit({ type: 'notice', text: why === null ? text : `${text} git says: ${why}` });
  return `git could not read the work tree in iteration ${iteration}${why === null ? '' : `: ${why}`}`;
};

const withoutFullStop = (text: string): string => text.replace(/\.$/, '');

const refused = (why: string): string =>
  `${why}: changes are no longer tracked or committed. Fix it, then start again.`;

const goneText = ({ root }: WorkTree): string =>
  `${existsSync(root) ? '.git' : root} was deleted: changes are no longer tracked or committed.`;

/** Returns why the work of a run is unknown. */
export const goneAtEnd = (tree: WorkTree): string => withoutFullStop(goneText(tree));

export const warnIfDetached = (tree: WorkTree, emit: RunContext['emit']): void => {
  // Does not run git. Nothing is committed during a rebase.
  if (!isDetached(tree) || operationInProgress(tree) !== null) return;
  emit({
    type: 'notice',
    text: 'Detached HEAD: commits are not on a branch. To keep them: git switch -c <name>',
  });
};
