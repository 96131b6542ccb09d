import { changesBetween, type Difference, namesOf, summarise } from '../../git/changes.ts';
import { type Checkpoints, openCheckpoints } from '../../git/checkpoint.ts';
import { commitFiles } from '../../git/commit.ts';
import { readable } from '../../git/git.ts';
import { findWithheld } from '../../git/withheld.ts';
import { commitsSince, headOf, takeTree, unfinished, type WorkTree } from '../../git/worktree.ts';
import type { Work, World } from '../../ralph/loop.ts';
import { count, lineChanges } from '../../report/format.ts';
import type { WorldParts } from './parts.ts';

const nothing: Work = { git: null, commit: null, commitProblem: null, checkpoint: null };

/** What an iteration does to the work tree: counted, kept as a checkpoint, and committed. */
export const makeWork = (parts: WorldParts): World['watchWork'] => {
  const { tree, plan, place, emit } = parts;
  if (tree === null) return async () => async () => nothing;
  const named = new Set<string>();
  const owed = new Set<string>();
  let checkpoints: Checkpoints | null = null;
  let unfinishedWork = false;
  return async (iteration) => {
    if (checkpoints === null) {
      checkpoints = await openCheckpoints(tree, { ...plan, finished: plan.firstIteration - 1 });
      // In a worktree of its own, what an iteration that was cut off has left is nobody else's.
      unfinishedWork = place.worktree !== null && checkpoints.lastTree() !== null;
    }
    const before = unfinishedWork ? checkpoints.lastTree() : await takeTree(tree);
    unfinishedWork = false;
    if (before === null) {
      emit({
        type: 'notice',
        text: 'git cannot read the work tree: this iteration is not counted, kept or committed.',
      });
      return async () => nothing;
    }
    const head = await headOf(tree);
    await checkpoints.before(before);
    const iterationWork = { ...parts, tree, checkpoints, iteration, before, head, named, owed };
    return () => workSince(iterationWork);
  };
};

interface IterationWork extends WorldParts {
  readonly tree: WorkTree;
  readonly checkpoints: Checkpoints;
  readonly iteration: number;
  readonly before: string;
  readonly head: string | null;
  /** What earlier iterations changed and git refused to commit. */
  readonly owed: Set<string>;
  /** Files of which it was said that they are not committed. */
  readonly named: Set<string>;
}

const workSince = async (work: IterationWork): Promise<Work> => {
  const { tree, before, head, checkpoints, iteration } = work;
  const after = await takeTree(tree);
  if (after === null) return nothing;
  const changes = after === before ? [] : await changesBetween(tree, [before, after], { renames: true });
  if (changes === null) return nothing;
  const git = summarise(changes, await commitsSince(tree, head));
  const checkpoint = await checkpoints.after(iteration, after);
  return { git, checkpoint, ...(await commitWork(work, after, { changes, git })) };
};

const commitWork = async (
  work: IterationWork,
  after: string,
  { changes, git }: { changes: readonly Difference[]; git: NonNullable<Work['git']> },
): Promise<Pick<Work, 'commit' | 'commitProblem'>> => {
  const { tree, options, plan, iteration, stops, emit, redactor, owed } = work;
  if (!plan.commit || changes.length + owed.size === 0) return { commit: null, commitProblem: null };
  const busy = unfinished(tree);
  if (busy !== null) {
    emit({ type: 'notice', text: `No commit: ${busy} is in progress.` });
    return { commit: null, commitProblem: null };
  }
  const withheld = await findWithheld(tree, changes, redactor);
  for (const { name, why } of withheld) sayOnce(work, name, `Not committed: ${readable(name)} (${why}).`);
  const nested = changes.filter((change) => change.nested && change.status === 'added').map(({ name }) => name);
  for (const name of nested) sayOnce(work, name, `Not committed: ${readable(name)} (a repository of its own).`);
  const kept = new Set([...withheld.map(({ name }) => name), ...nested]);
  const names = [...new Set([...owed, ...namesOf(changes.filter(({ name }) => !kept.has(name)))])];
  const result = await commitFiles(tree, {
    names,
    treeId: after,
    message: fillIn(options.commitMessage, {
      change: plan.change,
      run: plan.run,
      iteration: String(iteration),
      summary: `${count(git.filesChanged, 'file')} changed, ${lineChanges(git)}`,
    }),
    kill: stops.kill,
    tag: `${plan.run}/${iteration}`,
  });
  owed.clear();
  if (result.kind !== 'refused')
    return { commit: result.kind === 'committed' ? result.hash : null, commitProblem: null };
  for (const name of names) owed.add(name);
  emit({ type: 'notice', text: `No commit: ${result.why.split('\n').at(-1)}` });
  return { commit: null, commitProblem: result.why };
};

const sayOnce = ({ named, emit }: IterationWork, name: string, text: string): void => {
  if (named.has(name)) return;
  named.add(name);
  emit({ type: 'notice', text });
};

const fillIn = (template: string, facts: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => facts[name] ?? placeholder);
