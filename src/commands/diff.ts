import { userError } from '../errors.ts';
import { treeOf } from '../git/checkpoint.ts';
import { diffTrees, summariseDiff } from '../git/diff.ts';
import { showGit, toUtf8 } from '../git/call/git.ts';
import { lastSaved } from '../changes/tasks/current.ts';
import { loopOwner } from '../store/state.ts';
import { safeJson } from '../text/controls.ts';
import type { Invocation } from './shared/command.ts';
import { type RunCheckpoints, lastIteration, checkpointNamed } from '../store/saved-checkpoints.ts';
import { checkpointsFor } from './shared/checkpoints.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const { args, rawFlags, env, terminal } = invocation;
  if (rawFlags.all && args[1] !== undefined) throw userError('two-actions', '--all', `an iteration`);
  const saved = await checkpointsFor(invocation, { archived: true });
  if (lastIteration(saved) === 0) throw userError('no-iteration', saved.change);
  const range = rawFlags.all ? '0..' : (args[1] ?? (await defaultRange(saved)));
  const [from, to] = await commitsOf(saved, range);
  if (!rawFlags.json)
    return showGit(['diff', '--find-renames', ...(rawFlags.stat ? ['--stat'] : []), from, to], saved.tree.root);
  const { createRedactor } = await import('../secrets/redact.ts');
  terminal.printResult(`${safeJson(createRedactor(env).data(await statOf(saved, [from, to])), 2)}\n`);
  return 0;
};

/** The latest iteration of a run that is running, and all iterations of one that has ended. */
const defaultRange = async (saved: RunCheckpoints): Promise<string> => {
  const { project, change, run: id } = saved;
  const isRunning = loopOwner(project, change) !== null && (await lastSaved(project, change))?.view?.run === id;
  return isRunning ? String(lastIteration(saved)) : '0..';
};

/** What `--json` prints. */
const statOf = async (saved: RunCheckpoints, [from, to]: readonly [string, string]) => {
  const changes = await diffTrees(saved.tree, [from, to], { renames: true });
  if (changes === null) throw userError('no-git', saved.tree.root, 'git cannot compare the checkpoints');
  const { filesChanged, insertions, deletions } = summariseDiff(changes, []);
  return {
    change: saved.change,
    run: saved.run,
    from,
    to,
    filesChanged,
    insertions,
    deletions,
    files: changes.map((one) => ({
      status: one.status,
      path: toUtf8(one.name),
      from: one.from === null ? null : toUtf8(one.from),
      insertions: one.insertions,
      deletions: one.deletions,
    })),
  };
};

/**
 * The two commits to compare. One iteration is compared with its parent, which includes what the user changed before
 * it. An iteration that changed nothing shares the commit of the one before. A range without an end goes to the last
 * iteration, one without a beginning starts before the first.
 */
const commitsOf = async (saved: RunCheckpoints, range: string): Promise<[string, string]> => {
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
