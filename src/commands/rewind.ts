import { existsSync } from 'node:fs';
import { userError } from '../errors.ts';
import { blockedOr } from '../git/blocked.ts';
import { keepPresent, treeOf } from '../git/checkpoint.ts';
import { pathOf, readable } from '../git/git.ts';
import { type LeftOut, leftOutIn, stillLeftOut } from '../git/left-out.ts';
import { notKept } from '../git/not-kept.ts';
import { inTheWay, planRewind, reasons, rewind, type RewindPlan } from '../git/rewind.ts';
import { takeTree } from '../git/trees.ts';
import { openNotes } from '../store/notes.ts';
import { runFolder } from '../store/state.ts';
import { lockChange } from '../store/run-lock.ts';
import { createRedactor, type Redactor } from '../secrets/redact.ts';
import { count, oneLine, someOf } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import type { Terminal } from '../report/terminal.ts';
import type { Call } from './command.ts';
import { type Kept, pick } from '../run/checkpoints.ts';
import { keptOf } from './kept.ts';

/** How many files are named. */
const mostNamed = 20;

export const run = (call: Call): Promise<number> =>
  rewindOrShow(call).catch((error: unknown) => {
    throw blockedOr(error);
  });

const rewindOrShow = async (call: Call): Promise<number> => {
  const kept = await keptOf(call);
  const { project, tree, change, place } = kept;
  if (!existsSync(place)) throw userError('place-gone', place);
  const target = (await treeOf(tree, pick(kept, call.second!).commit))!;
  if (call.typed.dryRun) {
    show(await planOf(kept, target, call), call.terminal);
    return 0;
  }
  const lock = lockChange(project, change, { treeFolder: tree.gitFolder });
  try {
    return await rewindTo(kept, target, call);
  } finally {
    lock.release();
  }
};

const rewindTo = async (kept: Kept, target: string, call: Call): Promise<number> => {
  const { terminal, second } = call;
  const { tree, change, run: runId } = kept;
  const planned = await planOf(kept, target, call);
  const { plan, leftOut, redactor } = planned;
  if (plan.changes.length === 0) {
    show(planned, terminal);
    terminal.out(`${subjectOf(planned)} is as it was at ${second} already.\n`);
    return 0;
  }
  const blocked = await inTheWay(
    tree,
    plan,
    [...kept.checkpoints.values()].map(({ commit }) => commit),
  );
  if (blocked.length > 0) throw userError('in-the-way', listed(blocked));
  const names = plan.changes.map(({ name }) => name);
  const present = await keepPresent(tree, { change, run: runId, leftOut, redactor, names, record: kept.record });
  if (present === null) throw userError('no-git', tree.root, 'the present could not be kept, so nothing was changed');
  const missed = await rewind(tree, target, { plan, leftOut, redactor });
  show(planned, terminal);
  terminal.out(
    `${subjectOf(planned)} is as it was at ${second}; branch and index are as they were. Back again with: ${commandLine('spool', 'rewind', change, present.name)}\n`,
  );
  if (missed.length === 0) return 0;
  throw userError('half-rewound', listed(missed), commandLine('spool', 'rewind', change, present.name));
};

const subjectOf = ({ plan: { left }, lost }: Planned) =>
  left.length + lost.length === 0 ? 'The work tree' : 'The rest of the work tree';

const listed = (names: readonly string[]): string => someOf(names, names.length, mostNamed);

interface Planned {
  readonly plan: RewindPlan;
  readonly leftOut: readonly LeftOut[];
  readonly redactor: Redactor;
  /** What the target had, and no checkpoint holds. */
  readonly lost: readonly LeftOut[];
}

const planOf = async (kept: Kept, target: string, call: Call): Promise<Planned> => {
  const { project, tree, change, run: runId, checkpoints } = kept;
  const notes = openNotes({ run: runId, folder: runFolder(project, change, runId), record: kept.recordFolder });
  const list = leftOutIn(notes.read('left-out.json'));
  const redactor = createRedactor(call.env);
  const present = await takeTree(tree, { leftOut: stillLeftOut(list), redactor });
  if (present === null) throw userError('no-git', tree.root, 'git cannot read the work tree');
  const plan = await planRewind(tree, present, target);
  if (plan === null) throw userError('no-git', tree.root, 'git cannot compare the two');
  const leftOut = present.leftOut();
  const there = new Set(leftOut.map((each) => each.name).filter((each) => existsSync(pathOf(tree.root, each))));
  const gone = list.filter((each) => each.kind !== 'output' && !there.has(each.name));
  const lost = await notKept(tree, gone, { name: call.second!, treeId: target, checkpoints });
  return { plan, leftOut, redactor, lost };
};

const letters = { added: 'A', modified: 'M', deleted: 'D', renamed: 'R' } as const;

const show = ({ plan: { changes, left }, lost }: Planned, terminal: Terminal): void => {
  for (const { status, name } of changes.slice(0, mostNamed))
    terminal.out(`${letters[status]}  ${oneLine(readable(name))}\n`);
  if (changes.length > mostNamed) terminal.out(`and ${count(changes.length - mostNamed, 'file')} more\n`);
  for (const why of new Set(left.map((each) => each.why))) {
    const names = left.filter((each) => each.why === why).map(({ name }) => readable(name));
    terminal.out(`Skipped: ${listed(names)} (${why})\n`);
  }
  for (const kind of new Set(lost.map((each) => each.kind))) {
    const names = lost.filter((each) => each.kind === kind).map(({ name }) => readable(name));
    terminal.out(`Not brought back: ${listed(names.toSorted())} (${reasons[kind]})\n`);
  }
};
