import { existsSync } from 'node:fs';
import { userError } from '../errors.ts';
import { blockedOr } from '../git/blocked.ts';
import { keepPresent, treeOf } from '../git/checkpoint.ts';
import { pathOf, toUtf8 } from '../git/git.ts';
import { type SkippedPath, parseSkipped, stillSkipped } from '../git/skipped.ts';
import { missingFromCheckpoints } from '../git/missing-files.ts';
import { inTheWay, planRewind, reasons, rewind, type RewindPlan } from '../git/rewind.ts';
import { snapshotTree } from '../git/trees.ts';
import { openNotes } from '../store/notes.ts';
import { runFolder } from '../store/state.ts';
import { lockChange } from '../store/run-lock.ts';
import { createRedactor, type Redactor } from '../secrets/redact.ts';
import { pluralise, oneLine, someOf } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import type { Terminal } from '../report/terminal.ts';
import type { Invocation } from './command.ts';
import { checkRepository } from '../run/repository.ts';
import { type RunCheckpoints, checkpointNamed } from '../run/checkpoints.ts';
import { keptOf } from './kept.ts';

/** How many files are named. */
const mostNamed = 20;

export const run = (call: Invocation): Promise<number> =>
  rewindOrShow(call).catch((error: unknown) => {
    throw blockedOr(error);
  });

const rewindOrShow = async (call: Invocation): Promise<number> => {
  const kept = await keptOf(call);
  const { project, tree, change, workspace } = kept;
  if (!existsSync(workspace)) throw userError('workspace-gone', workspace);
  const target = (await treeOf(tree, checkpointNamed(kept, call.second!).commit))!;
  if (call.rawFlags.dryRun) {
    show(await planOf(kept, target, call), call.terminal);
    return 0;
  }
  await checkRepository({ project, change, env: call.env });
  const lock = lockChange(project, change, { treeFolder: tree.gitDir });
  try {
    return await rewindTo(kept, target, call);
  } finally {
    lock.release();
  }
};

const rewindTo = async (kept: RunCheckpoints, target: string, call: Invocation): Promise<number> => {
  const { terminal, second } = call;
  const { tree, change, run: runId } = kept;
  const planned = await planOf(kept, target, call);
  const { plan, leftOut, redactor } = planned;
  if (plan.changes.length === 0) {
    show(planned, terminal);
    terminal.print(`${subjectOf(planned)} is as it was at ${second} already.\n`);
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
  terminal.print(
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
  readonly leftOut: readonly SkippedPath[];
  readonly redactor: Redactor;
  /** What the target had, and no checkpoint holds. */
  readonly lost: readonly SkippedPath[];
}

const planOf = async (kept: RunCheckpoints, target: string, call: Invocation): Promise<Planned> => {
  const { project, tree, change, run: runId, checkpoints } = kept;
  const notes = openNotes({ run: runId, folder: runFolder(project, change, runId), record: kept.recordFolder });
  const list = parseSkipped(notes.read('skipped.json'));
  const redactor = createRedactor(call.env);
  const present = await snapshotTree(tree, { leftOut: stillSkipped(list), redactor });
  if (present === null) throw userError('no-git', tree.root, 'git cannot read the work tree');
  const plan = await planRewind(tree, present, target);
  if (plan === null) throw userError('no-git', tree.root, 'git cannot compare the two');
  const leftOut = present.leftOut();
  const there = new Set(leftOut.map((each) => each.name).filter((each) => existsSync(pathOf(tree.root, each))));
  const gone = list.filter((each) => each.kind !== 'output' && !there.has(each.name));
  const lost = await missingFromCheckpoints(tree, gone, { name: call.second!, treeId: target, checkpoints });
  return { plan, leftOut, redactor, lost };
};

const letters = { added: 'A', modified: 'M', deleted: 'D', renamed: 'R' } as const;

const show = ({ plan: { changes, left }, lost }: Planned, terminal: Terminal): void => {
  for (const { status, name } of changes.slice(0, mostNamed))
    terminal.print(`${letters[status]}  ${oneLine(toUtf8(name))}\n`);
  if (changes.length > mostNamed) terminal.print(`and ${pluralise(changes.length - mostNamed, 'file')} more\n`);
  for (const why of new Set(left.map((each) => each.why))) {
    const names = left.filter((each) => each.why === why).map(({ name }) => toUtf8(name));
    terminal.print(`Skipped: ${listed(names)} (${why})\n`);
  }
  for (const kind of new Set(lost.map((each) => each.kind))) {
    const names = lost.filter((each) => each.kind === kind).map(({ name }) => toUtf8(name));
    terminal.print(`Not brought back: ${listed(names.toSorted())} (${reasons[kind]})\n`);
  }
};
