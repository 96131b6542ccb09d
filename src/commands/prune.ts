import { join } from 'node:path';
import { userError } from '../errors.ts';
import { removeOwn } from '../files/own.ts';
import { parseValue, expects } from '../config/values.ts';
import { whyBlocked } from '../git/blocked.ts';
import { type Checkpoint, dropCheckpoints, listCheckpoints } from '../git/checkpoint.ts';
import { findWorkTree, type WorkTree } from '../git/worktree.ts';
import { folderNames } from '../files/read.ts';
import { findProject, type Project, stateFolder } from '../store/project.ts';
import { runId } from '../store/run-id.ts';
import { dropNotes } from '../store/notes.ts';
import { recordFolder } from '../store/record.ts';
import { loopOwner, ralphFolder } from '../store/state.ts';
import { newTempIndex } from '../store/folders.ts';
import { pluralise } from '../text/format.ts';
import type { Invocation } from './command.ts';

/** What is dropped of one change. */
interface Old {
  readonly change: string;
  readonly runs: readonly string[];
  readonly checkpoints: readonly Checkpoint[];
}

export const run = async ({ rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const raw = typeof rawFlags.keep === 'string' ? rawFlags.keep : '3';
  const keep = parseValue('count', raw);
  if (typeof keep !== 'number') throw userError('bad-value', '--keep', expects.count, raw);
  const project = findProject(cwd);
  const found = await findWorkTree(project.root, newTempIndex(env));
  const tree = found.kind === 'found' ? found.tree : null;
  const old = await findOld(project, tree, keep);
  const blocked = whyBlocked(project.root);
  if (blocked !== null) throw userError('blocked-git', blocked);
  if (old.length === 0) {
    terminal.print(`Nothing to drop: no change has more than ${pluralise(keep, 'run')}.\n`);
    return 0;
  }
  const what = describe(old);
  if (!rawFlags.yes && !(await confirmed(what, terminal.canPrompt))) {
    terminal.print('Nothing was dropped.\n');
    return 0;
  }
  for (const { change, runs, checkpoints } of old) {
    if (tree && !(await dropCheckpoints(tree, change, checkpoints)))
      throw userError(
        'no-git',
        tree.root,
        `git refuses to drop the checkpoints of ${change}; nothing of it was dropped`,
      );
    const record = recordFolder(project, change, env);
    for (const id of runs) {
      removeOwn(join(ralphFolder(project, change), 'runs', id));
      dropNotes({ run: id, record });
    }
  }
  terminal.print(`Dropped ${what}. The history stays.\n`);
  return 0;
};

/** Every change that has state, also one that is archived or gone; but none on which a loop runs. */
const findOld = async (project: Project, tree: WorkTree | null, keep: number): Promise<Old[]> => {
  const changes = await folderNames(join(stateFolder(project), 'ralph'));
  const all = await Promise.all(
    changes.map(async (change) => {
      if (loopOwner(project, change)) return { change, runs: [], checkpoints: [] };
      const checkpoints = tree ? await listCheckpoints(tree, change) : [];
      // Checkpoints of other runs belong to another folder of the same repository.
      const runs = (await folderNames(join(ralphFolder(project, change), 'runs'))).filter((name) => runId.test(name));
      const old = new Set(runs.slice(0, Math.max(0, runs.length - keep)));
      return { change, runs: [...old], checkpoints: checkpoints.filter(({ run: id }) => old.has(id)) };
    }),
  );
  return all.filter(({ runs }) => runs.length > 0);
};

const describe = (old: readonly Old[]): string => {
  const runs = old.reduce((sum, { runs: ids }) => sum + ids.length, 0);
  const checkpoints = old.reduce((sum, { checkpoints: kept }) => sum + kept.length, 0);
  return `${pluralise(runs, 'run')} of ${pluralise(old.length, 'change')}, with ${pluralise(checkpoints, 'checkpoint')}`;
};

const confirmed = async (what: string, canAsk: boolean): Promise<boolean> => {
  if (!canAsk) throw userError('yes-required', `would drop ${what}`);
  const { confirm } = await import('../report/prompts.ts');
  return confirm(`Drop ${what}? The history stays.`);
};
