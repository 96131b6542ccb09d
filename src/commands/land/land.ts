import { relative } from 'node:path';
import { userError } from '../../errors.ts';
import {
  baseOf,
  branchExists,
  currentBranch,
  dirtyPaths,
  discardWorktree,
  holdsRepositories,
  isWorktree,
  moveBranch,
  prefixOf,
  removeWorktree,
  tipOf,
} from '../../git/branches.ts';
import { readable } from '../../git/git.ts';
import { findWorkTree, gitFolderOf, unfinished } from '../../git/worktree.ts';
import { endRun, familyAt } from '../../processes.ts';
import { resolveChange } from '../../project/changes.ts';
import { dropFromContext } from '../../project/context.ts';
import { findProject, trialPath, worktreePath } from '../../project/find.ts';
import { branchOf } from '../../project/ids.ts';
import { lockChange, readRun } from '../../project/state.ts';
import { oneLine } from '../../report/format.ts';
import type { Call } from '../command.ts';
import { planned } from '../ralph/place.ts';
import { listenForStops } from '../ralph/signals.ts';
import { moveAhead } from './ahead.ts';
import type { Landing, LandRequest } from './landing.ts';
import { isConflictNote, tryOut } from './trial.ts';

/** How long what a landing that was killed has left running may take to end. */
const leftoverGraceMs = 2000;

/** Brings the branch of a change to where it began: rebased, verified, and then only moved ahead. */
export const run = async (call: Call): Promise<number> => {
  const project = findProject(call.cwd);
  const change = await resolveChange(project, call.argument!);
  const folder = await gitFolderOf(project.root);
  if (folder === null) throw userError('no-git', project.root, 'it is no git repository');
  const lock = lockChange(project, change, { treeFolder: folder });
  const stops = listenForStops(() => {});
  try {
    return await land({ project, change, call, stops });
  } finally {
    stops.dispose();
    lock.release();
  }
};

const land = async (request: LandRequest): Promise<number> => {
  const trial = trialPath(request.project, request.change);
  // A landing that was killed may have left one.
  await removeTrial(request, trial);
  const landing = await planLanding(request, trial);
  try {
    const commit = await tryOut(landing);
    await moveAhead(landing, commit);
    await tidy(landing, commit);
    const { project, change, base, call } = landing;
    dropFromContext(project, change, isConflictNote);
    call.terminal.out(`Landed ${change}: ${base} is at ${commit.slice(0, 8)}. Nothing was pushed.\n`);
    return 0;
  } finally {
    await removeTrial(request, trial);
  }
};

const planLanding = async (request: LandRequest, trial: string): Promise<Landing> => {
  const { project, change, call } = request;
  const { view, damage } = await readRun(project, change);
  if (damage !== null) call.terminal.say(`${damage}\n`);
  const branch = view?.place?.branch ?? branchOf(change);
  const tip = await tipOf(project.root, branch);
  if (tip === null) throw userError('no-branch', branch, `spool ralph --change ${change} --worktree`);
  const base = (call.typed.onto as string | undefined) ?? (await baseOf(project.root, branch));
  if (base === null || base === branch) throw userError('no-base', branch);
  if (!(await branchExists(project.root, base)))
    throw userError('bad-branch', base, 'there is none of that name; land on another with --onto.');
  const landing = { ...request, branch, base, tip, prefix: await prefixOf(project.root), trial };
  await refuseDirty(landing);
  return landing;
};

const removeTrial = async ({ project, call }: LandRequest, trial: string): Promise<void> => {
  await endRun(familyAt(trial), leftoverGraceMs);
  const removed = await discardWorktree(project.root, trial);
  if (!removed.ok) call.terminal.say(`${relative(project.root, trial)} could not be removed: ${removed.why}.\n`);
};

/** Work that is in the worktree only would be left behind. */
const refuseDirty = async (landing: Landing): Promise<void> => {
  const { project, change, branch } = landing;
  const worktree = worktreePath(project, change);
  if (!(await isWorktree(project.root, worktree))) return;
  const loose = await looseIn(landing, worktree);
  if (loose !== null) throw userError('dirty-worktree', relative(project.root, worktree), branch, loose);
};

/** What is not on the branch; null when all is. The copies of the change itself are not work. */
const looseIn = async ({ project, change, branch, prefix }: Landing, worktree: string): Promise<string | null> => {
  const found = await findWorkTree(worktree, '');
  const busy = found.kind === 'found' ? unfinished(found.tree) : null;
  if (busy !== null) return `${busy} is in progress`;
  const there = await currentBranch(worktree);
  if (there !== branch) return `it is on ${there ?? 'no branch'}`;
  const dirty = await dirtyPaths(worktree);
  if (dirty === null) return 'git cannot tell what is in it';
  const copies = (await planned(project, change)).map((path) => `${prefix}${path}`);
  const isCopied = (path: string) => copies.some((copy) => path === copy || path.startsWith(`${copy}/`));
  const file = dirty.map(readable).find((path) => !isCopied(path));
  return file === undefined ? null : `${oneLine(file)} is not committed`;
};

/** What has landed needs no place of its own any more; but what came after it was looked at does. */
const tidy = async (landing: Landing, commit: string): Promise<void> => {
  const { project, change, branch, tip } = landing;
  const worktree = worktreePath(project, change);
  if ((await tipOf(project.root, branch)) !== tip) return;
  if (await isWorktree(project.root, worktree)) {
    if ((await looseIn(landing, worktree)) !== null || (await holdsRepositories(worktree))) return;
    await removeWorktree(project.root, worktree);
  }
  await moveBranch(project.root, branch, [tip, commit]);
};
