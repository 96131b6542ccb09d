import { userError } from '../errors.ts';
import { removeSafely } from '../files/safe.ts';
import { parseValue, expects } from '../config/values.ts';
import { whyBlocked } from '../git/call/blocked.ts';
import { type Checkpoint, dropCheckpoints, listCheckpoints } from '../git/checkpoint.ts';
import { findWorkTree, type WorkTree } from '../git/work-tree.ts';
import { folderNames } from '../files/read.ts';
import { checkRepository } from '../run/workspace/repository.ts';
import { findProject, type Project } from '../store/project.ts';
import { runId } from '../store/run-id.ts';
import { dropFileLists } from '../store/file-lists.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { loopOwner } from '../store/state.ts';
import { newTempIndex } from '../store/folders.ts';
import { pluralise } from '../text/format.ts';
import { answer } from '../report/message.ts';
import type { Invocation } from './registry/command.ts';
import { confirmOn } from './user/consent.ts';
import { allRunsFolder, runsFolder, runFolder } from '../store/paths.ts';

export const run = async ({ rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const keep = parseKeep(rawFlags.keep ?? '3');
  const project = findProject(cwd);
  const found = await findWorkTree(project.root, newTempIndex(env));
  const tree = found.kind === 'found' ? found.tree : null;
  const old = await findOldRuns(project, tree, keep);
  const blocked = whyBlocked(project.root);
  if (blocked !== null) throw userError('git-blocked', blocked);
  if (old.length === 0) {
    answer(terminal, `Nothing to prune (keeping the last ${pluralise(keep, 'run')} per change).`);
    return 0;
  }
  await checkRepository({ project, change: old[0]!.change, env });
  const what = describe(old);
  const confirm = confirmOn(terminal);
  if (!rawFlags.yes && confirm === null) throw userError('yes-required', `would delete ${what}`);
  if (!rawFlags.yes && !(await confirm!(`Delete ${what}? History is kept.`))) {
    terminal.print('Nothing was deleted.\n');
    return 0;
  }
  for (const each of old) await deleteRuns({ project, tree, env }, each);
  answer(terminal, `Deleted ${what}. History is kept.`);
  return 0;
};

const parseKeep = (raw: Invocation['rawFlags'][string]): number => {
  const keep = parseValue('count', String(raw));
  if (typeof keep !== 'number') throw userError('bad-value', '--keep', expects.count, String(raw));
  return keep;
};

/** The old runs of one change. */
interface OldRuns {
  readonly change: string;
  readonly runs: readonly string[];
  readonly checkpoints: readonly Checkpoint[];
}

/** Includes changes that are archived or deleted. Skips changes with a running loop. */
const findOldRuns = async (project: Project, tree: WorkTree | null, keep: number): Promise<OldRuns[]> => {
  const changes = folderNames(allRunsFolder(project));
  const all = await Promise.all(
    changes.map(async (change) => {
      if (loopOwner(project, change)) return { change, runs: [], checkpoints: [] };
      const checkpoints = tree ? await listCheckpoints(tree, change) : [];
      // Checkpoints of other runs belong to another folder of the same repository.
      const runs = folderNames(runsFolder(project, change)).filter((name) => runId.test(name));
      const old = new Set(runs.slice(0, Math.max(0, runs.length - keep)));
      return { change, runs: [...old], checkpoints: checkpoints.filter(({ run: id }) => old.has(id)) };
    }),
  );
  return all.filter(({ runs }) => runs.length > 0);
};

interface PrunedProject {
  readonly project: Project;
  readonly tree: WorkTree | null;
  readonly env: NodeJS.ProcessEnv;
}

const deleteRuns = async (
  { project, tree, env }: PrunedProject,
  { change, runs, checkpoints }: OldRuns,
): Promise<void> => {
  if (tree && !(await dropCheckpoints(tree, change, checkpoints)))
    throw userError('no-git', tree.root, `git failed to delete the checkpoints of ${change}, so its runs were kept`);
  const userState = userStateFolder(project, change, env);
  for (const id of runs) {
    removeSafely(runFolder(project, change, id));
    dropFileLists({ run: id, userState });
  }
};

/** `2 old runs of 1 change (7 checkpoints, prompts and logs)` */
const describe = (old: readonly OldRuns[]): string => {
  const runs = old.reduce((sum, { runs: ids }) => sum + ids.length, 0);
  const checkpoints = old.reduce((sum, each) => sum + each.checkpoints.length, 0);
  const contents = `${pluralise(checkpoints, 'checkpoint')}, prompts and logs`;
  return `${pluralise(runs, 'old run')} of ${pluralise(old.length, 'change')} (${contents})`;
};
