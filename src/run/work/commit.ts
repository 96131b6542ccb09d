import { diffTrees, type FileDiff, namesOf, summariseDiff } from '../../git/diff.ts';
import type { Checkpoints } from '../../git/checkpoint.ts';
import { worktreeOf } from '../../git/linked-worktrees.ts';
import { commitLimitMs, type CommitResult, commitFiles, commitErrorLine, maxReasonLength } from '../../git/commit.ts';
import { toUtf8 } from '../../git/paths.ts';
import { rawDiff, type RawDifference } from '../../git/raw-diff.ts';
import { findExcluded } from '../../git/commit-filter.ts';
import { headBranch, isDetached, operationInProgress, type WorkTree } from '../../git/work-tree.ts';
import type { IterationChanges } from '../../ralph/loop-host.ts';
import { shortId } from '../../changes/ids.ts';
import { duration, lineChanges, pluralise, someOf, widthOf } from '../../text/format.ts';
import { commitTasks, commitTitle } from './commit-subject.ts';
import type { RunContext } from '../context.ts';
import type { IndexRefresher } from './index-refresher.ts';
import type { Snapshot, Snapshots } from './snapshots.ts';
import type { UncommittedList } from './uncommitted-list.ts';

export type CommitContext = Pick<
  RunContext,
  'plan' | 'tag' | 'options' | 'stopSignals' | 'emit' | 'redactor' | 'sandbox' | 'workspace' | 'assignment'
>;

/** An iteration whose work may be committed. */
export interface IterationWork extends CommitContext {
  readonly snapshots: Snapshots;
  readonly checkpoints: Checkpoints;
  readonly tree: WorkTree;
  readonly index: IndexRefresher;
  readonly uncommittedList: UncommittedList;
  readonly iteration: number;
  readonly before: Snapshot;
  /** Returns what the iteration has done, in at most that many columns. */
  readonly subject: (columns: number) => string;
  /** Titles of the tasks that it ticked. */
  readonly ticked: readonly string[];
  /** Files that were announced as not committed. Each is announced once. */
  readonly announced: Set<string>;
  /**
   * The uncommitted files at the start of the run, with their versions. An agent may stash and restore them unchanged.
   */
  readonly dirtyAtStart: ReadonlyMap<string, string>;
  /** The files that this iteration had changed before it was interrupted and repeated. */
  readonly interrupted: ReadonlySet<string>;
  /** The files whose uncommitted changes of the user the iteration has removed. */
  readonly lost: ReadonlySet<string>;
  /** Commits on a HEAD that the agent has detached. */
  readonly detachedCommits: DetachedCommit[];
}

interface DetachedCommit {
  readonly commit: string;
  readonly names: readonly string[];
}

type CommitOutcome = Pick<IterationChanges, 'commit' | 'commitProblem'>;

const noCommit: CommitOutcome = { commit: null, commitProblem: null };

interface ChangedFiles {
  readonly changes: readonly FileDiff[];
  readonly git: NonNullable<IterationChanges['git']>;
}

/** Commits what an iteration has changed, and what earlier ones could not commit. */
export const commitWork = async (
  work: IterationWork,
  after: Snapshot,
  { changes, git }: ChangedFiles,
): Promise<CommitOutcome> => {
  const { plan, emit, uncommittedList, index } = work;
  const reverted = await index.beforeCommit();
  if (!plan.commit) return noCommit;
  uncommittedList.add(reverted, { why: 'a later commit reverted it', isPending: true });
  const pending = uncommittedList.pending();
  if (changes.length + pending.length === 0) return noCommit;
  const why = await whyNoCommit(work);
  if (why !== null) {
    emit({ type: 'notice', text: `No commit: ${why}.` });
    uncommittedList.add([...pending, ...namesOf(changes.filter((change) => !isNewNested(change)))], {
      why,
      isPending: true,
    });
    return { commit: null, commitProblem: why };
  }
  const excluded = await excludedFrom(work, [...pending, ...changedFiles(changes)], changes);
  const names = namesToCommit(work, { pending, changes, excluded });
  const result = await commitFiles(work.tree, {
    names,
    treeId: after.id,
    message: async (differences, head) =>
      messageOf(work, await summaryOf(work, after, { changes, git, differences, head })),
    kill: work.stopSignals.kill,
    tag: `${work.tag}/${work.iteration}`,
    sandbox: work.sandbox,
    onSlow: () =>
      emit({
        type: 'notice',
        text: `Committing: a hook or the signing program is still running. It is ended after ${duration(commitLimitMs)}.`,
        activity: 'committing',
      }),
  });
  return afterCommit(work, { names, changes, after, result });
};

const changedFiles = (changes: readonly FileDiff[]): string[] =>
  changes.filter(({ nested }) => !nested).map(({ name }) => name);

/**
 * Returns the names that must not be committed (secrets, large files, nested repositories), and announces each once.
 */
const excludedFrom = async (
  work: IterationWork,
  candidates: readonly string[],
  changes: readonly FileDiff[],
): Promise<ReadonlySet<string>> => {
  // A pending file may contain a secret by now, or may have been excluded before Spool was restarted.
  const files = await findExcluded(work.tree, [...new Set(candidates)], work.redactor);
  const nested = changes.filter(isNewNested).map(({ name }) => ({ name, why: 'nested repository' }));
  const excluded = [...files, ...nested];
  for (const { name, why } of excluded) exclude(work, name, why);
  return new Set(excluded.map(({ name }) => name));
};

interface Candidates {
  readonly pending: readonly string[];
  readonly changes: readonly FileDiff[];
  readonly excluded: ReadonlySet<string>;
}

/**
 * Returns the names to commit. Files that were uncommitted at the start and have not changed since belong to the user.
 */
const namesToCommit = (
  { dirtyAtStart }: Pick<IterationWork, 'dirtyAtStart'>,
  { pending, changes, excluded }: Candidates,
): string[] => {
  const isAllowed = (name: string) => !excluded.has(name);
  const own = changes.filter(({ name, after: now }) => isAllowed(name) && dirtyAtStart.get(name) !== now);
  return [...new Set([...pending.filter(isAllowed), ...namesOf(own)])];
};

interface Committing extends ChangedFiles {
  readonly differences: ReadonlyMap<string, RawDifference>;
  /** The tree of HEAD. */
  readonly head: string;
}

type LineCounts = Pick<ChangedFiles['git'], 'filesChanged' | 'insertions' | 'deletions'>;

/** Counts what is committed, which may be more or less than what the iteration has changed. */
const summaryOf = async (
  { tree }: IterationWork,
  after: Snapshot,
  { changes, git, differences, head }: Committing,
): Promise<LineCounts> => {
  const isCommitted = ({ name, from, before, after: now }: FileDiff) =>
    differences.get(from ?? name)?.old === before && differences.get(name)?.new === now;
  if (namesOf(changes).length === differences.size && changes.every(isCommitted)) return git;
  const all = await diffTrees(tree, [head, after.id], { renames: true });
  return all === null
    ? git
    : summariseDiff(
        all.filter(({ name }) => differences.has(name)),
        [],
      );
};

const messageOf = (work: IterationWork, git: LineCounts): string => {
  const { options, plan, iteration, subject, ticked, assignment, redactor } = work;
  const values = {
    tasks: commitTasks(ticked, redactor),
    title: commitTitle(assignment.proposal, redactor) || plan.change,
    id: shortId(plan.change).slice(0, maxIdLength),
    change: plan.change,
    run: plan.run,
    iteration: String(iteration),
    summary: `${pluralise(git.filesChanged, 'file')} changed, ${lineChanges(git)}`,
  };
  const line = options.commitMessage.split('\n').find((each) => each.includes('{subject}')) ?? '';
  const taken = widthOf(fillTemplate(line, { ...values, subject: '' }));
  return fillTemplate(options.commitMessage, {
    ...values,
    subject: subject(Math.max(minSubjectColumns, maxLineColumns - taken)),
  });
};

/** What most tools show of the first line of a commit message. */
const maxLineColumns = 72;
const minSubjectColumns = 20;
const maxIdLength = 40;

interface Attempted {
  readonly names: readonly string[];
  readonly changes: readonly FileDiff[];
  readonly after: Snapshot;
  readonly result: CommitResult;
}

/** Records the result of a commit, and announces it where the user should know. */
const afterCommit = async (
  work: IterationWork,
  { names, changes, after, result }: Attempted,
): Promise<CommitOutcome> => {
  const { emit, uncommittedList, redactor, snapshots } = work;
  if (result.kind === 'refused') {
    const why = redactor.oneLine(commitErrorLine(redactor.endOf(result.why, maxReasonLength)));
    emit({ type: 'notice', text: `No commit: ${why}` });
    uncommittedList.add(names, { why, isPending: true });
    return { commit: null, commitProblem: result.why };
  }
  const earlier = new Set(uncommittedList.all());
  uncommittedList.remove(names);
  if (result.kind === 'nothing') return noCommit;
  snapshots.committed();
  const commit = await snapshots.askHead();
  work.index.afterCommit(commit, result.index);
  if (commit !== null && isDetached(work.tree)) announceDetached(work, commit, [...result.replaced.keys()]);
  const userChanges = (await userChangesIn(work, { changes, after, result })).filter(
    (name) => !earlier.has(name) && !work.interrupted.has(name) && !work.lost.has(name),
  );
  if (userChanges.length > 0)
    emit({
      type: 'notice',
      text: `Your uncommitted changes to ${someOf(userChanges.map(toUtf8))} are in commit ${commit?.slice(0, 8)}.`,
    });
  return { commit, commitProblem: null };
};

/** Returns why nothing can be committed now; null if it can. */
const whyNoCommit = async ({ tree, workspace }: IterationWork): Promise<string | null> => {
  const busy = operationInProgress(tree);
  if (busy !== null) return `${busy} is in progress`;
  const branch = headBranch(tree);
  if (workspace.worktree === null || branch === null || branch === workspace.branch) return null;
  // A commit would move a branch that is checked out in another worktree.
  const worktree = await worktreeOf(tree.root, branch);
  return worktree === null || worktree === tree.root ? null : `${branch} is checked out in ${worktree}`;
};

const announceDetached = (work: IterationWork, commit: string, names: readonly string[]): void => {
  work.detachedCommits.push({ commit, names });
  work.emit({ type: 'notice', text: `Commit ${commit.slice(0, 8)} is on no branch. ${howToRecover(commit)}` });
};

/** Returns how to keep a commit that is on no branch. */
export const howToRecover = (commit: string): string =>
  `To keep it: git branch ralph-${commit.slice(0, 8)} ${commit.slice(0, 8)}`;

interface Commit {
  readonly changes: readonly FileDiff[];
  readonly after: Snapshot;
  readonly result: CommitResult & { kind: 'committed' };
}

/** Returns the files of the commit that had uncommitted changes when the iteration began. */
const userChangesIn = async (
  { tree, before }: IterationWork,
  { changes, after, result: { replaced } }: Commit,
): Promise<string[]> => {
  const inCommit = changes.filter(({ name, from }) => replaced.has(from ?? name));
  if (before.head === after.head)
    return inCommit
      .filter((change) => change.before !== replaced.get(change.from ?? change.name))
      .map(({ name }) => name);
  // The agent has committed as well, so HEAD has moved.
  const dirty = before.head === null ? null : await rawDiff(tree.root, before.head, before.id);
  return inCommit.filter(({ name, from }) => dirty?.has(from ?? name)).map(({ name }) => name);
};

const exclude = (work: IterationWork, name: string, why: string): void => {
  work.uncommittedList.add([name], { why, isPending: false });
  noticeOnce(work, name, `Not committed: ${toUtf8(name)} (${why}).`);
};

export const noticeOnce = (
  { announced, emit }: Pick<IterationWork, 'announced' | 'emit'>,
  name: string,
  text: string,
): void => {
  if (announced.has(name)) return;
  announced.add(name);
  emit({ type: 'notice', text });
};

const fillTemplate = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) =>
    Object.hasOwn(values, name) ? values[name]! : placeholder,
  );

/** Returns whether it is an untracked nested repository. */
export const isNewNested = ({ nested, status }: FileDiff) => nested && status === 'added';
