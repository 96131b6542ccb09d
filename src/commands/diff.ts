import { userError } from '../errors.ts';
import { treeOf } from '../git/checkpoint.ts';
import { showGit } from '../git/git.ts';
import type { Invocation } from './command.ts';
import { type RunCheckpoints, lastIteration, checkpointNamed } from '../run/checkpoints.ts';
import { keptOf } from './kept.ts';

export const run = async (call: Invocation): Promise<number> => {
  const kept = await keptOf(call);
  const [from, to] = await rangeOf(kept, call.second ?? String(lastIteration(kept)));
  const flags = call.rawFlags.stat ? ['--stat'] : [];
  return showGit(['diff', '--find-renames', ...flags, from, to], kept.tree.root);
};

/** Two commits. What one iteration did is the difference to its parent, which has what a person did in between; one that did nothing has no commit of its own. */
const rangeOf = async (kept: RunCheckpoints, text: string): Promise<[string, string]> => {
  const [first = '', second, ...more] = text.split('..');
  if (more.length > 0) throw userError('bad-value', 'n', 'takes an iteration such as 7, or two such as 3..7', text);
  if (second !== undefined) return [checkpointNamed(kept, first).commit, checkpointNamed(kept, second).commit];
  const { commit } = checkpointNamed(kept, first);
  if (!/^[1-9]/.test(first)) throw userError('bad-value', 'n', 'takes an iteration from 1 on', text);
  const before = kept.checkpoints.get(String(Number(first) - 1))?.commit;
  if (before === commit) return [commit, commit];
  // A repository that was made anew begins with a checkpoint that has no parent.
  const parent = await treeOf(kept.tree, `${commit}^`);
  return [parent ?? checkpointNamed(kept, String(Number(first) - 1)).commit, commit];
};
