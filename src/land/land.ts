import { join, relative } from 'node:path';
import { userError } from '../errors.ts';
import {
  baseOf,
  commitsBeyond,
  currentBranch,
  deleteBranch,
  dirtyPaths,
  discardWorktree,
  holdsRepositories,
  isWorktree,
  moveBranch,
  prefixOf,
  rangeBetween,
  resetKeeping,
  removeWorktree,
  tipOf,
} from '../git/branches.ts';
import { toUtf8 } from '../git/git.ts';
import { findWorkTree, operationInProgress } from '../git/worktree.ts';
import { terminateLeftovers, tagForPath } from '../process/tree.ts';
import { deleteCopies } from '../changes/copies.ts';
import { dropFromContext } from '../store/context.ts';
import { stagingWorktree, worktreePath } from '../store/project.ts';
import { branchOf } from '../changes/ids.ts';
import { readLanded, writeLanded } from '../store/landed.ts';
import { recordedBase, recordFolder } from '../store/record.ts';
import { dropLandingInProgress } from '../store/landing-in-progress.ts';
import { isAmong, planningPaths } from '../changes/planning-paths.ts';
import { readRun, readState } from '../store/state.ts';
import { pluralise, oneLine } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import { deletedWith, resultsIn, staysFor } from '../run/results.ts';
import { fastForwardBase } from './fast-forward.ts';
import { whyIncomplete } from './complete.ts';
import type { Landing, LandRequest } from './landing.ts';
import { finishMove, recoverAside } from './recover.ts';
import { isConflictNote, rehearse } from './rehearse.ts';

/** Brings the branch of a change to where it began: rebased, verified, and then only moved ahead. Says how it came out. */
export const land = async (request: LandRequest): Promise<string> => {
  const { project, change } = request;
  const trial = stagingWorktree(project, change);
  // A landing that was killed may have left one.
  await removeTrial(request, trial);
  const landing = await planLanding(request, trial);
  if (typeof landing === 'string') return `Nothing to land: ${landing}.`;
  const { base, baseTip, branch, tip } = landing;
  const earlier = await finishMove(landing);
  if (earlier !== null) return await conclude(landing, [earlier.from, earlier.to]);
  if ((await commitsBeyond(project.root, baseTip, tip)) === 0)
    return `Nothing to land: ${branch} has no commits beyond ${base}.`;
  if (!(await mayLand(landing))) return 'Cancelled.';
  try {
    const commit = await rehearse(landing);
    if ((await commitsBeyond(project.root, baseTip, commit)) === 0)
      return `Nothing to land: ${base} has what is on ${branch} already.`;
    await fastForwardBase(landing, commit);
    return await conclude(landing, [baseTip, commit]);
  } finally {
    await removeTrial(request, trial);
  }
};

/** What there is to do once the base has moved; says what has landed. */
const conclude = async (landing: Landing, [from, commit]: readonly [string, string]): Promise<string> => {
  const { project, change, base, branch } = landing;
  const run = (await readState(project, change))?.run ?? null;
  writeLanded(project, change, { v: 1, run, branch, base, commit, at: new Date().toISOString() });
  const range = await rangeBetween(project.root, from, commit);
  const fate = await tidy(landing, commit);
  dropLandingInProgress(recordFolder(project, change, landing.env));
  dropFromContext({ project, change, env: landing.env }, isConflictNote);
  const lines = `+${range.insertions} −${range.deletions}`;
  const size = `${pluralise(range.commits, 'commit')}, ${pluralise(range.files, 'file')} (${lines})`;
  return `Landed ${change} on ${base}: ${size}. ${fate} Not pushed.`;
};

/** Why there is nothing to land, when there is not. */
const planLanding = async (request: LandRequest, trial: string): Promise<Landing | string> => {
  const { project, change, say } = request;
  const { view, damage } = await readRun(project, change);
  if (damage !== null) say(damage);
  const branch = view?.workspace?.branch ?? branchOf(change);
  const tip = await tipOf(project.root, branch);
  if (tip === null) {
    const landed = await readLanded(project, change);
    if (landed?.branch === branch) return `${branch} has landed on ${landed.base} already`;
    throw userError('no-branch', branch, commandLine('spool', 'ralph', '--change', change, '--worktree'));
  }
  const base = request.onto ?? (await landsOn(request, branch));
  if (base === null || base === branch) throw userError('no-base', branch);
  const baseTip = await tipOf(project.root, base);
  if (baseTip === null) throw userError('bad-branch', base, 'there is none of that name; land on another with --onto.');
  const hasWorktree = await isWorktree(project.root, worktreePath(project, change));
  const prefix = await prefixOf(project.root);
  const landing = { ...request, branch, base, baseTip, tip, prefix, hasWorktree, trial };
  await recoverAside(landing);
  await refuseDirty(landing);
  return landing;
};

/** Where a branch is to be landed. Only of one that no run has recorded do the settings of git say it. */
const landsOn = async ({ project, change, env }: LandRequest, branch: string): Promise<string | null> => {
  const recorded = recordedBase(recordFolder(project, change, env), branch);
  return recorded === undefined ? baseOf(project.root, branch) : recorded;
};

/** A change whose last run is not complete lands only when it is forced, or after a yes. */
const mayLand = async ({ project, change, branch, env, force, confirm }: Landing): Promise<boolean> => {
  const why = force ? null : await whyIncomplete(project, { change, branch, env });
  if (why === null) return true;
  if (confirm === null) throw userError('not-complete', change, why);
  return confirm(`${change} is not complete (${why}). Land it anyway?`);
};

const removeTrial = async ({ project, say }: LandRequest, trial: string): Promise<void> => {
  await terminateLeftovers(tagForPath(trial));
  const removed = await discardWorktree(project.root, trial);
  if (!removed.ok) say(`${relative(project.root, trial)} could not be removed: ${removed.why}.`);
};

/** Work that is in the worktree only would be left behind. */
const refuseDirty = async (landing: Landing): Promise<void> => {
  const { project, change, branch, hasWorktree } = landing;
  const worktree = worktreePath(project, change);
  if (!hasWorktree) return;
  const loose = await looseIn(landing, worktree);
  if (loose !== null) throw userError('dirty-worktree', relative(project.root, worktree), branch, loose);
};

/** What is not on the branch; null when all is. The copies of the change itself are not work. */
const looseIn = async ({ project, change, branch, prefix }: Landing, worktree: string): Promise<string | null> => {
  const found = await findWorkTree(worktree, '');
  const busy = found.kind === 'found' ? operationInProgress(found.tree) : null;
  if (busy !== null) return `${busy} is in progress`;
  const there = await currentBranch(worktree);
  if (there !== branch) return `it is on ${there ?? 'no branch'}`;
  const dirty = await dirtyPaths(worktree);
  if (dirty === null) return 'git cannot tell what is in it';
  const copies = planningPaths(project, change).map((path) => `${prefix}${path}`);
  const file = dirty.map(toUtf8).find((path) => !isAmong(copies, path));
  return file === undefined ? null : `${oneLine(file)} is not committed`;
};

/** What has landed needs no place of its own any more; but what came after it was looked at does. Says what became of the branch. */
const tidy = async (landing: Landing, commit: string): Promise<string> => {
  const { project, change, branch, tip, prefix, say } = landing;
  const worktree = worktreePath(project, change);
  if ((await tipOf(project.root, branch)) !== tip) return 'Branch kept: it has new commits.';
  if (await isWorktree(project.root, worktree)) {
    const where = relative(project.root, worktree);
    if ((await looseIn(landing, worktree)) !== null || (await holdsRepositories(worktree)))
      return `Branch kept: there is work in ${where}.`;
    const results = await resultsIn(project, change, { worktree, root: join(worktree, prefix) });
    if (results.length > 0) {
      say(staysFor(results, where));
      await resetKeeping(worktree, commit);
      return 'Branch kept.';
    }
    const deleted = await deletedWith(worktree);
    const removed = await removeWorktree(project.root, worktree);
    if (removed.ok) for (const line of deleted) say(line);
  }
  if (!(await moveBranch(project.root, branch, [tip, commit]))) return 'Branch kept: it is checked out.';
  deleteCopies(project, change);
  if (landing.keepBranch) return 'Branch kept.';
  return (await deleteBranch(project.root, branch, commit))
    ? 'Branch deleted.'
    : 'Branch kept: git refuses to delete it.';
};
