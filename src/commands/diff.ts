import { userError } from '../errors.ts';
import { diffTrees, summariseDiff } from '../git/diff.ts';
import { showGit } from '../git/call/show.ts';
import { toUtf8 } from '../git/paths.ts';
import { lastSaved } from '../changes/tasks/current.ts';
import { loopOwner } from '../store/state.ts';
import { safeJson } from '../text/controls.ts';
import type { Invocation } from './registry/command.ts';
import { type RunCheckpoints, lastIteration } from '../store/saved-checkpoints.ts';
import { commitsOf } from '../store/checkpoint-range.ts';
import { checkpointsFor } from './runs/checkpoints.ts';

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
