import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { changesBetween, type Difference, namesOf, summarise } from '../../git/changes.ts';
import { type Checkpoints, openCheckpoints } from '../../git/checkpoint.ts';
import { type CommitResult, commitFiles, tellingLine } from '../../git/commit.ts';
import { readable } from '../../git/git.ts';
import { between } from '../../git/raw.ts';
import { findWithheld } from '../../git/withheld.ts';
import { commitsBetween, isIntact, unfinished, type WorkTree } from '../../git/worktree.ts';
import { lastRecords } from '../../project/history.ts';
import type { Work, World } from '../../ralph/loop.ts';
import { count, lineChanges, oneLine, someOf } from '../../report/format.ts';
import { leftBehind } from './cut-off.ts';
import type { WorldParts } from './parts.ts';
import { type IndexKeeper, keepIndex } from './refresh.ts';
import { createSnapshots, type Snapshot, type Snapshots } from './snapshots.ts';
import { type Ledger, openLedger } from './uncommitted.ts';

const unreadable = (snapshots: Snapshots): string => {
  const why = snapshots.problem();
  const text = 'git cannot read the work tree: this iteration is not counted, kept or committed.';
  return why === null ? text : `${text} git says: ${oneLine(why)}`;
};
const nothing: Work = { git: null, commit: null, commitProblem: null, checkpoint: null };

export interface WorkWatch {
  readonly watch: World['watchWork'];
  readonly uncommitted: World['uncommitted'];
  /** Somebody else may be at the files between two iterations: they are looked at anew before the next one. */
  disturbed(): void;
}

/** What an iteration does to the work tree: counted, kept as a checkpoint, and committed. */
export const makeWork = (parts: WorldParts): WorkWatch => {
  const { tree, emit } = parts;
  if (tree === null)
    return { watch: async () => async () => nothing, uncommitted: async () => [], disturbed: () => {} };
  if (parts.plan.commit) sayWhereCommitsGo(tree, emit);
  const named = new Set<string>();
  const index = keepIndex(tree, emit);
  const ledger = openLedger(parts.folder);
  const complain = complainer(tree, emit);
  let opened: Opened | null = null;
  let known: Snapshot | null = null;
  return {
    disturbed: () => {
      known = null;
    },
    watch: async (iteration) => {
      await index.beforeAgent();
      if (opened === null) {
        if (parts.plan.commit) await recallWhatIsOpen(parts, tree, ledger);
        opened = await open(parts, tree);
        const { cutOffTree, unsureSince, snapshots } = opened;
        known = await snapshots.take();
        if (known !== null && unsureSince !== null)
          await noteLeftBehind({ ...parts, tree, ledger }, unsureSince, known.id);
        if (known !== null && cutOffTree !== null) known = { ...known, id: cutOffTree };
      }
      const { checkpoints, snapshots } = opened;
      const before = known ?? (await snapshots.take());
      known = null;
      if (before === null) {
        complain(snapshots);
        return async () => nothing;
      }
      await checkpoints.before(iteration, before.id);
      const iterationWork = { ...parts, tree, snapshots, index, checkpoints, iteration, before, named, ledger };
      return async () => {
        const after = await snapshots.take();
        const work = after && (await workSince(iterationWork, after));
        if (work === null) {
          complain(snapshots);
          return nothing;
        }
        // Where nothing was committed, and so no hook ran, the next iteration begins with what this one has left.
        if (work.commit === null && work.commitProblem === null) known = after;
        return work;
      };
    },
    uncommitted: async () => {
      if (isGone(tree)) return [];
      await index.atEnd();
      if (!parts.plan.commit || ledger.all().length === 0) return [];
      const now = opened === null ? null : await opened.snapshots.take();
      const open = now && (await between(tree.root, now.head ?? now.id, now.id));
      return ledger.report(
        new Set(ledger.all().filter((name) => open === null || now?.head === null || open.has(name))),
      );
    },
  };
};

/** An agent has deleted it. */
const isGone = (tree: WorkTree) => !isIntact(tree) || !existsSync(tree.gitFolder);

/** Says that git cannot be asked; once when there is nothing left to ask. */
const complainer = (tree: WorkTree, emit: WorldParts['emit']): ((snapshots: Snapshots) => void) => {
  let isSaid = false;
  return (snapshots) => {
    if (!isGone(tree)) return emit({ type: 'notice', text: unreadable(snapshots) });
    if (!isSaid) emit({ type: 'notice', text: gone });
    isSaid = true;
  };
};

const gone = 'The repository is gone (.git): from here on nothing is counted, kept or committed.';

const sayWhereCommitsGo = (tree: WorkTree, emit: WorldParts['emit']): void => {
  // Without asking git. In the middle of a rebase nothing is committed.
  if (!isDetached(tree) || unfinished(tree) !== null) return;
  emit({
    type: 'notice',
    text: 'HEAD is detached: commits go to no branch. To keep them: git switch -c <name>',
  });
};

const isDetached = ({ gitFolder }: WorkTree): boolean => {
  try {
    return !readFileSync(join(gitFolder, 'HEAD'), 'utf8').startsWith('ref:');
  } catch {
    return false;
  }
};

interface Opened {
  readonly snapshots: Snapshots;
  readonly checkpoints: Checkpoints;
  /** What an iteration that was cut off began with, where all that has changed since is its work; null otherwise. */
  readonly cutOffTree: string | null;
  /** The same, where a person may have changed something since. */
  readonly unsureSince: string | null;
}

const open = async (parts: WorldParts, tree: WorkTree): Promise<Opened> => {
  const { plan, place, wasCutOff } = parts;
  const checkpoints = await openCheckpoints(tree, { ...plan, finished: plan.firstIteration - 1 });
  const last = wasCutOff ? checkpoints.lastTree() : null;
  // In a worktree of its own, what an iteration that was cut off has left is nobody else's.
  const snapshots = createSnapshots(parts, tree, checkpoints.found);
  if (place.worktree !== null) return { snapshots, checkpoints, cutOffTree: last, unsureSince: null };
  return { snapshots, checkpoints, cutOffTree: null, unsureSince: plan.commit ? last : null };
};

/** What is known from before an interruption: from the ledger, and from the history where the ledger is lost. */
const recallWhatIsOpen = async ({ project, plan, emit }: WorldParts, tree: WorkTree, ledger: Ledger): Promise<void> => {
  const records = plan.firstIteration === 1 ? [] : await lastRecords(project, plan.change, mostRecalled);
  const done = records.findLastIndex(({ run, git, commitProblem }) => run !== plan.run || (git && !commitProblem));
  for (const { checkpoint, git, commitProblem } of records.slice(done + 1)) {
    if (checkpoint === null || !git?.filesChanged || commitProblem === null) continue;
    const changes = await changesBetween(tree, [`${checkpoint}^`, checkpoint], { renames: false });
    const known = new Set(ledger.all());
    const names = (changes ?? []).filter((change) => !isNewNested(change)).map(({ name }) => name);
    const why = oneLine(tellingLine(commitProblem));
    ledger.add(
      names.filter((name) => !known.has(name)),
      { why, owed: true },
    );
  }
  for (const { why, files, count: all } of ledger.report(new Set(ledger.all())))
    emit({ type: 'notice', text: `Not committed: ${someOf(files, all)} (${why}).` });
};

/** Says what an iteration that was cut off has left uncommitted, and sees to it that its own work is committed. */
const noteLeftBehind = async (
  { plan, folder, tree, ledger, emit }: WorldParts & { tree: WorkTree; ledger: Ledger },
  last: string,
  now: string,
): Promise<void> => {
  const { own, unsure } = await leftBehind({ plan, folder }, tree, { last, now });
  const open = own.length + unsure.length === 0 ? null : await between(tree.root, 'HEAD', now);
  const isOpen = (name: string) => open === null || open.has(name);
  const which = `iteration ${plan.firstIteration}`;
  const say = (names: readonly string[], text: string) => {
    if (names.length > 0) emit({ type: 'notice', text: text.replace('{}', () => shown(names)) });
  };
  ledger.add(own.filter(isOpen), { why: `${which} was cut off`, owed: true });
  ledger.add(unsure.filter(isOpen), { why: `changed after ${which} was cut off`, owed: false });
  say(own.filter(isOpen), `Left uncommitted by ${which}, which was cut off: {}. The next commit has it.`);
  say(
    unsure.filter(isOpen),
    `Changed since ${which} was cut off, by the agent or by you: {}. It is left uncommitted unless an iteration changes it.`,
  );
};

const shown = (names: readonly string[]) => someOf(names.map(readable));

/** Of how many iterations the work is made up for when only the history knows it. */
const mostRecalled = 50;

const isNewNested = ({ nested, status }: Difference) => nested && status === 'added';

interface IterationWork extends WorldParts, Pick<Opened, 'snapshots' | 'checkpoints'> {
  readonly tree: WorkTree;
  readonly index: IndexKeeper;
  readonly ledger: Ledger;
  readonly iteration: number;
  readonly before: Snapshot;
  /** Files of which it was said that they are not committed. */
  readonly named: Set<string>;
}

/** null when git cannot tell. */
const workSince = async (work: IterationWork, after: Snapshot): Promise<Work | null> => {
  const { tree, snapshots, before, checkpoints, iteration } = work;
  const all = after.id === before.id ? [] : await changesBetween(tree, [before.id, after.id], { renames: true });
  if (all === null) return null;
  const changes = all.filter(({ name }) => !snapshots.isLeftOut(name));
  const inside = snapshots.inside([before, after], changes);
  const git = summarise([...changes, ...inside], await commitsBetween(tree, [before.head, after.head]));
  const checkpoint = await checkpoints.after(iteration, after.id);
  if (checkpoint === null) work.emit({ type: 'notice', text: 'git refuses to keep a checkpoint of this iteration.' });
  if (work.plan.commit) for (const name of repositoriesOf(inside, after)) sayOnce(work, name, ofItsOwn(name));
  return { git, checkpoint, ...(await commitWork(work, after, { changes, git: summarise(changes, git.commits) })) };
};

const repositoriesOf = (inside: readonly Difference[], { nested }: Snapshot): string[] =>
  [...nested.keys()].filter((path) => inside.some(({ name }) => name === path || name.startsWith(`${path}/`)));

const ofItsOwn = (name: string) => `Not committed: ${readable(name)} (a repository of its own).`;

const commitWork = async (
  work: IterationWork,
  after: Snapshot,
  { changes, git }: { changes: readonly Difference[]; git: NonNullable<Work['git']> },
): Promise<Pick<Work, 'commit' | 'commitProblem'>> => {
  const { tree, options, plan, iteration, stops, emit, redactor, ledger, index } = work;
  const undone = await index.beforeCommit();
  if (!plan.commit) return { commit: null, commitProblem: null };
  ledger.add(undone, { why: 'a later commit has undone it', owed: true });
  const owed = ledger.owed();
  if (changes.length + owed.length === 0) return { commit: null, commitProblem: null };
  const busy = unfinished(tree);
  if (busy !== null) {
    const why = `${busy} is in progress`;
    emit({ type: 'notice', text: `No commit: ${why}.` });
    ledger.add([...owed, ...namesOf(changes.filter((change) => !isNewNested(change)))], { why, owed: true });
    return { commit: null, commitProblem: why };
  }
  // What is owed may have become a secret since, or was withheld before Spool was started anew.
  const open = new Set([...owed, ...changes.filter((change) => !change.nested).map(({ name }) => name)]);
  const withheld = await findWithheld(tree, [...open], redactor);
  for (const { name, why } of withheld) withhold(work, name, why);
  const nested = changes.filter(isNewNested).map(({ name }) => name);
  for (const name of nested) withhold(work, name, 'a repository of its own');
  const kept = new Set([...withheld.map(({ name }) => name), ...nested]);
  const own = namesOf(changes.filter(({ name }) => !kept.has(name)));
  const names = [...new Set([...owed.filter((name) => !kept.has(name)), ...own])];
  const result = await commitFiles(tree, {
    names,
    treeId: after.id,
    message: fillIn(options.commitMessage, {
      change: plan.change,
      run: plan.run,
      iteration: String(iteration),
      summary: `${count(git.filesChanged, 'file')} changed, ${lineChanges(git)}`,
    }),
    kill: stops.kill,
    tag: `${plan.run}/${iteration}`,
  });
  if (result.kind === 'refused') {
    const why = redactor.text(oneLine(tellingLine(result.why)));
    emit({ type: 'notice', text: `No commit: ${why}` });
    ledger.add(names, { why, owed: true });
    return { commit: null, commitProblem: result.why };
  }
  const earlier = new Set(ledger.all());
  ledger.remove(names);
  if (result.kind === 'nothing') return { commit: null, commitProblem: null };
  work.snapshots.committed();
  const commit = await work.snapshots.askHead();
  index.afterCommit(commit, result.index);
  const yours = (await changesOfPersons(work, { changes, after, result })).filter((name) => !earlier.has(name));
  if (yours.length > 0)
    emit({
      type: 'notice',
      text: `${shown(yours)} had uncommitted changes of yours; they are in commit ${commit?.slice(0, 8)}.`,
    });
  return { commit, commitProblem: null };
};

interface Commit {
  readonly changes: readonly Difference[];
  readonly after: Snapshot;
  readonly result: CommitResult & { kind: 'committed' };
}

/** The files of the commit that were not as in HEAD when the iteration began. */
const changesOfPersons = async (
  { tree, before }: IterationWork,
  { changes, after, result: { replaced } }: Commit,
): Promise<string[]> => {
  const inCommit = changes.filter(({ name, from }) => replaced.has(from ?? name));
  if (before.head === after.head)
    return inCommit
      .filter((change) => change.before !== replaced.get(change.from ?? change.name))
      .map(({ name }) => name);
  // Where the agent has committed as well, HEAD is not what it was.
  const dirty = before.head === null ? null : await between(tree.root, before.head, before.id);
  return inCommit.filter(({ name, from }) => dirty?.has(from ?? name)).map(({ name }) => name);
};

const withhold = (work: IterationWork, name: string, why: string): void => {
  work.ledger.add([name], { why, owed: false });
  sayOnce(work, name, `Not committed: ${readable(name)} (${why}).`);
};

const sayOnce = ({ named, emit }: IterationWork, name: string, text: string): void => {
  if (named.has(name)) return;
  named.add(name);
  emit({ type: 'notice', text });
};

const fillIn = (template: string, facts: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => facts[name] ?? placeholder);
