import { userError } from '../errors.ts';
import { treeOf } from '../git/checkpoint.ts';
import { showGit } from '../git/call/git.ts';
import type { Invocation } from './command.ts';
import { type RunCheckpoints, lastIteration, checkpointNamed } from '../run/saved-checkpoints.ts';
import { checkpointsFor } from './checkpoints.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const saved = await checkpointsFor(invocation);
  const { args, rawFlags } = invocation;
  return showDiff(saved, { range: args[1] ?? String(lastIteration(saved)), stat: Boolean(rawFlags.stat) });
};

const showDiff = async (
  saved: RunCheckpoints,
  { range, stat }: { readonly range: string; readonly stat: boolean },
): Promise<number> => {
  const [from, to] = await commitsOf(saved, range);
  return showGit(['diff', '--find-renames', ...(stat ? ['--stat'] : []), from, to], saved.tree.root);
};

/**
 * The two commits to compare. One iteration is compared with its parent, which includes what a person changed before it.
 * An iteration that changed nothing shares the commit of the one before.
 */
const commitsOf = async (saved: RunCheckpoints, range: string): Promise<[string, string]> => {
  const [first = '', second, ...more] = range.split('..');
  if (more.length > 0)
    throw userError('bad-value', 'n', 'must be an iteration such as 7, or a range such as 3..7', range);
  if (second !== undefined) return [checkpointNamed(saved, first).commit, checkpointNamed(saved, second).commit];
  const { commit } = checkpointNamed(saved, first);
  if (!/^[1-9]/.test(first)) throw userError('bad-value', 'n', 'must be an iteration, starting at 1', range);
  const before = saved.checkpoints.get(String(Number(first) - 1))?.commit;
  if (before === commit) return [commit, commit];
  // The first checkpoint in a repository that was created again has no parent.
  const parent = await treeOf(saved.tree, `${commit}^`);
  return [parent ?? checkpointNamed(saved, String(Number(first) - 1)).commit, commit];
};
