import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { userError } from '../errors.ts';
import { topOf } from '../git/repository.ts';
import { blockedOr } from '../git/call/blocked.ts';
import { createBackup, treeOf } from '../git/checkpoint.ts';
import { pathOf, toUtf8 } from '../git/paths.ts';
import { type SkippedPath, parseSkipped, stillSkipped } from '../git/tree-snapshots/skipped.ts';
import { missingFromCheckpoints } from '../git/missing-files.ts';
import { inTheWay, planRewind, reasons, rewind, type RewindPlan } from '../git/rewind.ts';
import { snapshotTree } from '../git/tree-snapshots/snapshotter.ts';
import { commitsAfter } from '../store/commits-after.ts';
import { openFileLists } from '../store/file-lists.ts';
import { lockChange } from '../store/run-lock.ts';
import { createRedactor, type Redactor } from '../secrets/redact.ts';
import { joinLines, pluralise, someOf } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import { redactedTerminal, type RedactedTerminal } from '../report/redacted.ts';
import type { Invocation } from './registry/command.ts';
import { checkRepository } from '../run/workspace/repository.ts';
import { type RunCheckpoints, checkpointNamed } from '../store/saved-checkpoints.ts';
import { checkpointsFor } from './runs/checkpoints.ts';
import { runFolder } from '../store/paths.ts';

/** How many files are listed. */
const maxListed = 20;

export const run = async (invocation: Invocation): Promise<number> => {
  const { args, rawFlags, cwd, env } = invocation;
  const terminal = redactedTerminal(invocation.terminal, env);
  try {
    const saved = await checkpointsFor(invocation);
    if (!existsSync(saved.workspace)) throw userError('workspace-gone', saved.workspace);
    const name = args[1]!;
    const treeId = (await treeOf(saved.tree, checkpointNamed(saved, name).commit))!;
    const request = { saved, target: { name, treeId }, cwd, env, terminal };
    if (rawFlags.dryRun) show(await planFor(request), terminal);
    else await rewindLocked(request);
    return 0;
  } catch (error) {
    throw blockedOr(error);
  }
};

interface RewindRequest {
  readonly saved: RunCheckpoints;
  readonly target: { readonly name: string; readonly treeId: string };
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly terminal: RedactedTerminal;
}

const rewindLocked = async (request: RewindRequest): Promise<void> => {
  const { project, change, tree } = request.saved;
  await checkRepository({ project, change, env: request.env });
  const lock = lockChange(project, change, { treeFolder: tree.gitDir, command: 'rewind' });
  try {
    await rewindFiles(request);
  } finally {
    lock.release();
  }
};

const rewindFiles = async (request: RewindRequest): Promise<void> => {
  const { saved, target, terminal } = request;
  const { tree, change, run: runOfChange } = saved;
  const planned = await planFor(request);
  const { plan, skipped, redactor } = planned;
  if (plan.changes.length === 0) {
    show(planned, terminal);
    const isPartial = skippedSome(planned);
    terminal.answer(`${isPartial ? 'The other files are already' : 'Already'} at ${nameOf(target)}; nothing to do.`);
    await showLaterCommits(request);
    return;
  }
  const blocked = await inTheWay(
    tree,
    plan,
    [...saved.checkpoints.values()].map(({ commit }) => commit),
  );
  if (blocked.length > 0) throw userError('rewind-blocked', listed(blocked));
  const names = plan.changes.map(({ name }) => name);
  const backup = await createBackup(tree, { change, run: runOfChange, skipped, redactor, names, record: saved.record });
  if (backup === null)
    throw userError('no-git', tree.root, 'the current files could not be saved, so nothing was changed');
  const missed = await rewind(tree, target.treeId, { plan, skipped, redactor });
  show(planned, terminal);
  const undo = commandLine('spool', 'rewind', change, backup.name);
  const what = skippedSome(planned) ? 'the other files' : 'files';
  terminal.answer(`Restored ${what} to ${nameOf(target)} (branch and index unchanged).\nUndo: ${undo}`);
  await showLaterCommits(request);
  if (missed.length > 0) throw userError('rewind-incomplete', listed(missed), undo);
};

/** Says which commits are still on the branch although their files were rewound, and how to undo them. */
const showLaterCommits = async ({ saved, target, cwd, terminal }: RewindRequest): Promise<void> => {
  const later = /^\d+$/.test(target.name) ? await commitsAfter(saved, Number(target.name)) : null;
  if (later === null) return;
  const { count, iterations, branch, base } = later;
  const what = count === 1 ? 'The commit' : 'The commits';
  const still = `${what} of ${iterationsText(iterations)} ${count === 1 ? 'is' : 'are'} still on ${branch}`;
  const { root } = saved.tree;
  const folder = (await topOf(cwd)) === root ? [] : ['-C', relative(cwd, root)];
  terminal.answer(
    base === null
      ? `${still}, among other commits.`
      : `${still}.\nUndo the ${count === 1 ? 'commit' : 'commits'}, keep the files: ${commandLine('git', ...folder, 'reset', base.slice(0, 12))}`,
  );
};

/** `iteration 5`, or `iterations 5 to 8` */
const iterationsText = (iterations: readonly number[]): string => {
  const [first, last] = [Math.min(...iterations), Math.max(...iterations)];
  return first === last ? `iteration ${first}` : `iterations ${first} to ${last}`;
};

/** `iteration 4`, or `r1` for the files before a rewind. */
const nameOf = ({ name }: RewindRequest['target']): string => (/^\d+$/.test(name) ? `iteration ${name}` : name);

const skippedSome = ({ plan: { unchanged }, lost }: Planned): boolean => unchanged.length + lost.length > 0;

const listed = (names: readonly string[]): string => someOf(names, names.length, maxListed);

interface Planned {
  readonly plan: RewindPlan;
  readonly skipped: readonly SkippedPath[];
  readonly redactor: Redactor;
  /** Files that existed at the target and are in no checkpoint. */
  readonly lost: readonly SkippedPath[];
}

const planFor = async ({ saved, target, env }: RewindRequest): Promise<Planned> => {
  const { project, tree, change, run: runOfChange, checkpoints } = saved;
  const fileLists = openFileLists({
    run: runOfChange,
    folder: runFolder(project, change, runOfChange),
    userState: saved.userState,
  });
  const list = parseSkipped(fileLists.read('skipped.json'));
  const redactor = createRedactor(env);
  const present = await snapshotTree(tree, { skipped: stillSkipped(list), redactor });
  if (present === null) throw userError('no-git', tree.root, 'git cannot read the work tree');
  const plan = await planRewind(tree, present, target.treeId);
  if (plan === null) throw userError('no-git', tree.root, 'git cannot compare the work tree with the checkpoint');
  const skipped = present.skipped();
  const there = new Set(skipped.map((each) => each.name).filter((each) => existsSync(pathOf(tree.root, each))));
  const gone = list.filter((each) => each.kind !== 'output' && !there.has(each.name));
  const lost = await missingFromCheckpoints(tree, gone, { ...target, checkpoints });
  return { plan, skipped, redactor, lost };
};

const letters = { added: 'A', modified: 'M', deleted: 'D', renamed: 'R' } as const;

const show = ({ plan: { changes, unchanged }, lost }: Planned, terminal: RedactedTerminal): void => {
  for (const { status, name } of changes.slice(0, maxListed))
    terminal.print(`${letters[status]}  ${joinLines(toUtf8(name))}\n`);
  if (changes.length > maxListed) terminal.print(`and ${pluralise(changes.length - maxListed, 'file')} more\n`);
  for (const why of new Set(unchanged.map((each) => each.why))) {
    const names = unchanged.filter((each) => each.why === why).map(({ name }) => toUtf8(name));
    terminal.print(`Skipped: ${listed(names)} (${why})\n`);
  }
  for (const kind of new Set(lost.map((each) => each.kind))) {
    const names = lost.filter((each) => each.kind === kind).map(({ name }) => toUtf8(name));
    terminal.print(`Not restored: ${listed(names.toSorted())} (${reasons[kind]})\n`);
  }
};
