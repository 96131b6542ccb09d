import { isOnBranch } from '../../git/branches.ts';
import { toUtf8 } from '../../git/paths.ts';
import type { SkippedPath } from '../../git/tree-snapshots/skipped.ts';
import { rawDiff } from '../../git/raw-diff.ts';
import { type WorkTree } from '../../git/work-tree.ts';
import type { Uncommitted } from '../../ralph/events.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { howToRecover, type IterationWork } from './commit.ts';

interface UncommittedWork extends Pick<
  IterationWork,
  'tree' | 'snapshots' | 'uncommittedList' | 'detachedCommits' | 'redactor'
> {
  /** All files that the run has changed. */
  readonly touched: ReadonlySet<string>;
}

/** Returns the work of a run that is in no commit, and its commits that are on no branch. */
export const findUncommitted = async (work: UncommittedWork): Promise<Uncommitted[]> => {
  const { tree, snapshots, uncommittedList, touched, detachedCommits, redactor } = work;
  const skipped = uncommittedOf(snapshots.skipped(), redactor);
  if (uncommittedList.all().length + touched.size === 0) return skipped;
  const now = await snapshots.take();
  const open = now && (await rawDiff(tree.root, now.head ?? now.id, now.id));
  const isOpen = (name: string) => open === null || now?.head === null || open.has(name);
  const listed = new Set(uncommittedList.all());
  const lost = [...touched].filter((name) => !listed.has(name) && open?.has(name));
  uncommittedList.add(lost, { why: 'HEAD does not have it', isPending: false });
  return [
    ...uncommittedList.report(new Set(uncommittedList.all().filter(isOpen))),
    ...skipped,
    ...(await commitsOnNoBranch(tree, detachedCommits)),
  ];
};

/**
 * Files that git cannot add, that are too large for a checkpoint, or that look like secrets are not committed either.
 */
const uncommittedOf = (skipped: readonly SkippedPath[], redactor: Redactor): Uncommitted[] => {
  const of = (kind: SkippedPath['kind']) => skipped.filter((each) => each.kind === kind);
  const secrets = of('secret');
  const reasons = [...new Set(secrets.map(({ why }) => why))];
  return [of('refused'), of('large'), ...reasons.map((why) => secrets.filter((each) => each.why === why))]
    .filter(([first]) => first !== undefined)
    .map((list) => ({
      why: redactor.oneLine(list[0]!.why, 200),
      files: list.slice(0, 20).map(({ name }) => toUtf8(name)),
      count: list.length,
    }));
};

/** Returns the commits of the run that are on no branch. */
const commitsOnNoBranch = async (
  tree: WorkTree,
  detachedCommits: IterationWork['detachedCommits'],
): Promise<Uncommitted[]> => {
  const found: Uncommitted[] = [];
  for (const { commit, names } of detachedCommits) {
    if (await isOnBranch(tree.root, commit)) continue;
    found.push({ why: howToRecover(commit), files: names.slice(0, 20).map(toUtf8), count: names.length, commit });
  }
  return found;
};
