import { commitsOnHead } from '../git/branches.ts';
import { headBranch } from '../git/work-tree.ts';
import { lastRecords } from './history.ts';
import type { RunCheckpoints } from './saved-checkpoints.ts';

/** Commits of later iterations that are on the branch. */
export interface LaterCommits {
  readonly count: number;
  /** In ascending order. */
  readonly iterations: readonly number[];
  /** `HEAD` if none is checked out. */
  readonly branch: string;
  /** The commit below them; null if other commits are among them, or if there is none. */
  readonly base: string | null;
}

/** Returns null if the branch has no commit of an iteration after this one. */
export const commitsAfter = async (
  { project, change, run, tree }: RunCheckpoints,
  iteration: number,
): Promise<LaterCommits | null> => {
  const later = lastRecords(project, change, Infinity)
    .records.filter((record) => record.run === run && record.iteration > iteration)
    .flatMap(({ iteration: its, git, commit }) =>
      [...(git?.commits ?? []), commit].map((each) => ({ commit: each, iteration: its })),
    );
  if (later.every(({ commit }) => commit === null)) return null;
  const head = await commitsOnHead(tree.root, maxCommits);
  const found = later.filter(({ commit }) => commit !== null && head.includes(commit));
  if (found.length === 0) return null;
  const own = new Set(found.map(({ commit }) => commit));
  const isTop = head.slice(0, own.size).every((commit) => own.has(commit));
  return {
    count: own.size,
    iterations: [...new Set(found.map((each) => each.iteration))],
    branch: headBranch(tree) ?? 'HEAD',
    base: (isTop && head[own.size]) || null,
  };
};

const maxCommits = 10_000;
