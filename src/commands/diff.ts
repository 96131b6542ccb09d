import { userError } from '../errors.ts';
import { treeOf } from '../git/checkpoint.ts';
import { showGit } from '../git/git.ts';
import type { Call } from './command.ts';
import { type Kept, lastIteration, pick } from '../run/checkpoints.ts';
import { keptOf } from './kept.ts';

export const run = async (call: Call): Promise<number> => {
  const kept = await keptOf(call);
  const [from, to] = await rangeOf(kept, call.second ?? String(lastIteration(kept)));
  const flags = call.typed.stat ? ['--stat'] : [];
  return showGit(['diff', '--find-renames', ...flags, from, to], kept.tree.root);
};

/** Two commits. What one iteration did is the difference to its parent, which has what a person did in between; one that did nothing has no commit of its own. */
const rangeOf = async (kept: Kept, text: string): Promise<[string, string]> => {
  const [first = '', second, ...more] = text.split('..');
  if (more.length > 0) throw userError('bad-value', 'n', 'takes an iteration such as 7, or two such as 3..7', text);
  if (second !== undefined) return [pick(kept, first).commit, pick(kept, second).commit];
  const { commit } = pick(kept, first);
  if (!/^[1-9]/.test(first)) throw userError('bad-value', 'n', 'takes an iteration from 1 on', text);
  const before = kept.checkpoints.get(String(Number(first) - 1))?.commit;
  if (before === commit) return [commit, commit];
  // A repository that was made anew begins with a checkpoint that has no parent.
  const parent = await treeOf(kept.tree, `${commit}^`);
  return [parent ?? pick(kept, String(Number(first) - 1)).commit, commit];
};
