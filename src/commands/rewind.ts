import { existsSync } from 'node:fs';
import { userError } from '../errors.ts';
import { keepPresent, treeOf } from '../git/checkpoint.ts';
import { readable } from '../git/git.ts';
import { type LeftOut, readLeftOut } from '../git/left-out.ts';
import { inTheWay, planRewind, rewind, type RewindPlan } from '../git/rewind.ts';
import { takeTree } from '../git/trees.ts';
import { leftOutFile, lockChange, runFolder } from '../project/state.ts';
import { count, oneLine, shellWord, someOf } from '../report/format.ts';
import type { Terminal } from '../report/terminal.ts';
import type { Call } from './command.ts';
import { findKept, type Kept, pick } from './checkpoints.ts';

/** How many files are named. */
const mostNamed = 20;

export const run = async (call: Call): Promise<number> => {
  const kept = await findKept(call);
  const { project, tree, change, place } = kept;
  if (!existsSync(place)) throw userError('place-gone', place);
  const target = (await treeOf(tree, pick(kept, call.second!).commit))!;
  if (call.typed.dryRun) {
    const { plan } = await planOf(kept, target);
    show(plan, call.terminal);
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
  const { plan, leftOut } = await planOf(kept, target);
  if (plan.changes.length === 0) {
    show(plan, terminal);
    terminal.out(`${subjectOf(plan)} is as it was at ${second} already.\n`);
    return 0;
  }
  const blocked = await inTheWay(
    tree,
    plan,
    [...kept.checkpoints.values()].map(({ commit }) => commit),
  );
  if (blocked.length > 0) throw userError('in-the-way', listed(blocked));
  const names = plan.changes.map(({ name }) => name);
  const present = await keepPresent(tree, { change, run: runId, leftOut, names });
  if (present === null) throw userError('no-git', tree.root, 'the present could not be kept, so nothing was changed');
  const missed = await rewind(tree, target, { plan, leftOut });
  show(plan, terminal);
  terminal.out(
    `${subjectOf(plan)} is as it was at ${second}; branch and index are as they were. Back again with: spool rewind ${shellWord(change)} ${present.name}\n`,
  );
  if (missed.length === 0) return 0;
  throw userError('half-rewound', listed(missed), `spool rewind ${shellWord(change)} ${present.name}`);
};

const subjectOf = ({ left }: RewindPlan) => (left.length === 0 ? 'The work tree' : 'The rest of the work tree');

const listed = (names: readonly string[]): string => someOf(names, names.length, mostNamed);

interface Planned {
  readonly plan: RewindPlan;
  readonly leftOut: readonly LeftOut[];
}

const planOf = async ({ project, tree, change, run: runId }: Kept, target: string): Promise<Planned> => {
  const present = await takeTree(tree, { leftOut: readLeftOut(leftOutFile(runFolder(project, change, runId))) });
  if (present === null) throw userError('no-git', tree.root, 'git cannot read the work tree');
  const plan = await planRewind(tree, present, target);
  if (plan === null) throw userError('no-git', tree.root, 'git cannot compare the two');
  return { plan, leftOut: present.leftOut() };
};

const letters = { added: 'A', modified: 'M', deleted: 'D', renamed: 'R' } as const;

const show = ({ changes, left }: RewindPlan, terminal: Terminal): void => {
  for (const { status, name } of changes.slice(0, mostNamed))
    terminal.out(`${letters[status]}  ${oneLine(readable(name))}\n`);
  if (changes.length > mostNamed) terminal.out(`and ${count(changes.length - mostNamed, 'file')} more\n`);
  for (const why of new Set(left.map((each) => each.why))) {
    const names = left.filter((each) => each.why === why).map(({ name }) => readable(name));
    terminal.out(`Skipped: ${listed(names)} (${why})\n`);
  }
};
