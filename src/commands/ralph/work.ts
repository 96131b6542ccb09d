import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { changesBetween, type Difference, summarise } from '../../git/changes.ts';
import { type Checkpoints, openCheckpoints } from '../../git/checkpoint.ts';
import { readable } from '../../git/git.ts';
import { between } from '../../git/raw.ts';
import { commitsBetween, isIntact, unfinished, type WorkTree } from '../../git/worktree.ts';
import type { Work, World } from '../../ralph/loop.ts';
import { oneLine } from '../../report/format.ts';
import { commitWork, type IterationWork, sayOnce } from './commit-work.ts';
import { oweSettled } from './copies.ts';
import { noteLeftBehind, recallWhatIsOpen } from './cut-off.ts';
import type { WorldParts } from './parts.ts';
import { keepIndex } from './refresh.ts';
import { createSnapshots, type Snapshot, type Snapshots } from './snapshots.ts';
import { openLedger } from './uncommitted.ts';

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
        if (after !== null && parts.plan.commit) await oweSettled(parts, ledger);
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
