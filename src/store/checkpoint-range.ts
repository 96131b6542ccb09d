import { userError } from '../errors.ts';
import { treeOf } from '../git/checkpoint.ts';
import { checkpointNamed, type ComparedCheckpoints, lastIteration } from './saved-checkpoints.ts';

/**
 * The two commits to compare. One iteration is compared with its parent, which includes what the user changed before
 * it. An iteration that changed nothing shares the commit of the one before. A range without an end goes to the last
 * iteration, one without a beginning starts before the first.
 */
export const commitsOf = async (saved: ComparedCheckpoints, range: string): Promise<[string, string]> => {
  const [first = '', second, ...more] = range.split('..');
  if (more.length > 0)
    throw userError('bad-value', 'n', 'must be an iteration such as 7, or a range such as 3..7', range);
  if (second !== undefined)
    return [
      checkpointNamed(saved, first || '0').commit,
      checkpointNamed(saved, second || String(lastIteration(saved))).commit,
    ];
  const { commit } = checkpointNamed(saved, first);
  if (!/^[1-9]/.test(first)) throw userError('bad-value', 'n', 'must be an iteration, starting at 1', range);
  const before = saved.checkpoints.get(String(Number(first) - 1))?.commit;
  if (before === commit) return [commit, commit];
  // The first checkpoint in a repository that was created again has no parent.
  const parent = await treeOf(saved.tree, `${commit}^`);
  return [parent ?? checkpointNamed(saved, String(Number(first) - 1)).commit, commit];
};
