import { lstatSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { diffTrees } from '../../git/diff.ts';
import { listCheckpoints, treeOf } from '../../git/checkpoint.ts';
import { commitErrorLine } from '../../git/commit.ts';
import { toUtf8, statsOfName } from '../../git/paths.ts';
import { mixTrees } from '../../git/mixed-tree.ts';
import { rawDiff } from '../../git/raw-diff.ts';
import type { WorkTree } from '../../git/work-tree.ts';
import { lastRecords } from '../../store/history.ts';
import { someOf } from '../../text/format.ts';
import { isNewNested } from './commit.ts';
import { type RunContext } from '../context.ts';
import type { UncommittedList } from './uncommitted-list.ts';
import { iterationLog } from '../../store/paths.ts';

/**
 * Restores and announces the uncommitted work from before an interruption: from its list, or from the history if the
 * list is lost.
 */
export const recallUncommitted = async (
  { project, plan, emit, redactor }: Pick<RunContext, 'project' | 'plan' | 'emit' | 'redactor'>,
  tree: WorkTree,
  uncommittedList: UncommittedList,
): Promise<void> => {
  const records = plan.firstIteration === 1 ? [] : lastRecords(project, plan.change, maxRecalled).records;
  const done = records.findLastIndex(({ run, git, commitProblem }) => run !== plan.run || (git && !commitProblem));
  for (const { checkpoint, git, commitProblem } of records.slice(done + 1)) {
    if (checkpoint === null || !git?.filesChanged || commitProblem === null) continue;
    const changes = await diffTrees(tree, [`${checkpoint}^`, checkpoint], { renames: false });
    const known = new Set(uncommittedList.all());
    const names = (changes ?? []).filter((change) => !isNewNested(change)).map(({ name }) => name);
    const why = redactor.oneLine(commitErrorLine(commitProblem));
    uncommittedList.add(
      names.filter((name) => !known.has(name)),
      { why, isPending: true },
    );
  }
  for (const { why, files, count: all } of uncommittedList.report(new Set(uncommittedList.all())))
    emit({ type: 'notice', text: `Not committed: ${someOf(files, all)} (${why}).` });
};

/** What an interrupted iteration left in the work tree. */
export interface LeftBehind {
  /** The files that it changed, by their git names. */
  readonly own: ReadonlySet<string>;
  /** The tree from which the repeated iteration counts: the current files, with its own as they were before it. */
  readonly treeId: string;
}

/** Announces what an interrupted iteration has left uncommitted, and adds its own work to the next commit. */
export const recordLeftBehind = async (
  {
    plan,
    folder,
    tree,
    uncommittedList,
    emit,
  }: Pick<RunContext, 'plan' | 'folder' | 'emit'> & { tree: WorkTree; uncommittedList: UncommittedList },
  last: string,
  now: string,
): Promise<LeftBehind> => {
  const { began, own, unsure } = await findLeftBehind({ plan, folder }, tree, { last, now });
  if (plan.commit && own.length + unsure.length > 0) {
    const open = await rawDiff(tree.root, 'HEAD', now);
    const isOpen = (name: string) => open === null || open.has(name);
    const which = `iteration ${plan.firstIteration}`;
    const say = (names: readonly string[], text: string) => {
      if (names.length > 0) emit({ type: 'notice', text: text.replace('{}', () => someOf(names.map(toUtf8))) });
    };
    uncommittedList.add(own.filter(isOpen), { why: `${which} was interrupted`, isPending: true });
    uncommittedList.add(unsure.filter(isOpen), {
      why: `changed since the last output of interrupted ${which}`,
      isPending: false,
    });
    say(own.filter(isOpen), `Uncommitted from interrupted ${which}: {} (included in the next commit).`);
    say(
      unsure.filter(isOpen),
      `Changed since the last output of interrupted ${which}: {}. Not committed, as these may be your edits.`,
    );
  }
  const names = new Set(own);
  return { own: names, treeId: (await mixTrees(tree, { base: now, from: began, names })) ?? now };
};

/** The number of iterations that are restored from the history. */
const maxRecalled = 50;

/** The files that changed since an interrupted iteration began, by their git names. */
interface ChangedSince {
  /** The tree at the beginning of the iteration. */
  readonly began: string;
  /** Changed before the last output of the agent. */
  readonly own: readonly string[];
  /** Changed later, by the agent or by the user. */
  readonly unsure: readonly string[];
}

/**
 * `last` is the tree of the last checkpoint, `now` the tree of the work tree. A file whose ctime, which cannot be set,
 * is older than the last write to the log was changed while the agent was running.
 */
const findLeftBehind = async (
  { plan, folder }: Pick<RunContext, 'plan' | 'folder'>,
  tree: WorkTree,
  { last, now }: { last: string; now: string },
): Promise<ChangedSince> => {
  const checkpoints = await listCheckpoints(tree, plan.change, plan.run);
  const before = checkpoints.find(({ name }) => name === `before-${plan.firstIteration}`);
  const began = (before && (await treeOf(tree, before.commit))) ?? last;
  const changes = began === now ? [] : ((await diffTrees(tree, [began, now], { renames: false })) ?? []);
  const names = changes.filter(({ nested }) => !nested).map(({ name }) => name);
  const log = statSync(iterationLog(folder, plan.firstIteration), { throwIfNoEntry: false });
  const isOwn = (name: string) => log !== undefined && statsNear(tree.root, name).ctimeMs <= log.mtimeMs;
  return { began, own: names.filter(isOwn), unsure: names.filter((name) => !isOwn(name)) };
};

/** Returns the stats of a file, or of the closest existing folder if it was deleted. */
const statsNear = (root: string, name: string): Stats => {
  const stats = statsOfName(root, name);
  if (stats !== undefined) return stats;
  const folder = dirname(name);
  return folder === '.' ? lstatSync(root) : statsNear(root, folder);
};
