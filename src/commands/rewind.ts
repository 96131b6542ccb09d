import { existsSync } from 'node:fs';
import { userError } from '../errors.ts';
import type { Difference } from '../git/changes.ts';
import { keepPresent, treeOf } from '../git/checkpoint.ts';
import { readable } from '../git/git.ts';
import { inTheWay, planRewind, rewind } from '../git/rewind.ts';
import { takeTree } from '../git/worktree.ts';
import { lockChange } from '../project/state.ts';
import { count, oneLine } from '../report/format.ts';
import type { Terminal } from '../report/terminal.ts';
import type { Call } from './command.ts';
import { findKept, type Kept, pick } from './checkpoints.ts';

/** How many files are named. */
const shown = 20;

export const run = async (call: Call): Promise<number> => {
  const kept = await findKept(call);
  const { project, tree, change, place } = kept;
  if (!existsSync(place)) throw userError('place-gone', place);
  const target = (await treeOf(tree, pick(kept, call.second!).commit))!;
  if (call.typed.dryRun) {
    show(await planOf(kept, target), call.terminal);
    return 0;
  }
  const lock = lockChange(project, change, { treeFolder: tree.gitFolder });
  try {
    return await rewindTo(kept, target, call);
  } finally {
    lock.release();
  }
};

const rewindTo = async (kept: Kept, target: string, { terminal, second }: Call): Promise<number> => {
  const { tree, change, run: runId } = kept;
  const plan = await planOf(kept, target);
  if (plan.length === 0) {
    terminal.out(`The work tree is as it was at ${second} already.\n`);
    return 0;
  }
  const blocked = inTheWay(tree, plan);
  if (blocked.length > 0)
    throw userError(
      'in-the-way',
      blocked
        .slice(0, shown)
        .map((name) => oneLine(name))
        .join(', '),
    );
  const present = await keepPresent(tree, change, runId);
  if (present === null) throw userError('no-git', tree.root, 'the present could not be kept, so nothing was changed');
  const left = await rewind(tree, target, plan);
  show(plan, terminal);
  terminal.out(
    `The work tree is as it was at ${second}; branch and index are as they were. Back again with: spool rewind ${change} ${present.name}\n`,
  );
  if (left.length === 0) return 0;
  const names = left.slice(0, shown).map((name) => oneLine(name));
  throw userError('half-rewound', names.join(', '), `spool rewind ${change} ${present.name}`);
};

const planOf = async (kept: Kept, target: string): Promise<Difference[]> => {
  const plan = await planRewind(kept.tree, await presentTree(kept), target);
  if (plan === null) throw userError('no-git', kept.tree.root, 'git cannot compare the two');
  return plan;
};

const presentTree = async ({ tree }: Kept): Promise<string> => {
  const present = await takeTree(tree);
  if (present === null) throw userError('no-git', tree.root, 'git cannot read the work tree');
  return present;
};

const letters = { added: 'A', modified: 'M', deleted: 'D', renamed: 'R' } as const;

const show = (plan: readonly Difference[], terminal: Terminal): void => {
  for (const { status, name } of plan.slice(0, shown)) terminal.out(`${letters[status]}  ${oneLine(readable(name))}\n`);
  if (plan.length > shown) terminal.out(`and ${count(plan.length - shown, 'file')} more\n`);
};
