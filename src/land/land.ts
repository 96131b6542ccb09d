import { join, relative } from 'node:path';
import { userError } from '../errors.ts';
import { configuredBase, commitsBeyond, tipOf } from '../git/branches.ts';
import { prefixOf } from '../git/repository.ts';
import { deleteBranch, moveBranch, moveKeeping, rangeBetween } from '../git/move-branch.ts';
import { discardWorktree, containsRepositories, isWorktree, removeWorktree } from '../git/linked-worktrees.ts';
import { terminateLeftovers, tagForPath } from '../process/tree.ts';
import { deleteCopies } from '../changes/copies.ts';
import { setLandingNote } from '../store/added-context.ts';
import { stagingWorktree, worktreePath } from '../store/paths.ts';
import { branchOf } from '../changes/branch.ts';
import { readLanded, writeLanded } from '../store/landed.ts';
import { recordedBase } from '../store/user-state/branches.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { saveLedger } from '../store/user-state/ledger.ts';
import { dropLandingInProgress } from '../store/landing-in-progress.ts';
import { loadRun, readState } from '../store/state.ts';
import { lineChanges, pluralise } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import { deletionNotices, filesLostWith, keptNotice } from '../run/workspace/provisioned-worktree.ts';
import { fastForwardBase } from './fast-forward.ts';
import { whyIncomplete } from './complete.ts';
import { whyDirty } from './dirty.ts';
import type { Landing, LandRequest } from './landing.ts';
import { finishMove, interruptedMove, recoverDisplaced } from './recover.ts';
import type { LandProof } from './prove.ts';
import { rehearse } from './rehearse.ts';

/**
 * Rebases the branch of a change onto its base, verifies it, and fast-forwards the base unless it is a dry run. Returns a
 * line that describes the outcome.
 */
export const land = async (request: LandRequest): Promise<string> => {
  const { project, change } = request;
  const staging = stagingWorktree(project, change);
  // A landing that was killed may have left its staging worktree.
  await removeStaging(request, staging);
  const landing = await planLanding(request, staging);
  if (typeof landing === 'string') return `Nothing to land: ${landing}.`;
  const { base, baseTip, branch, tip } = landing;
  if (request.dryRun && (await interruptedMove(landing)) !== null)
    return `Would finish the landing of ${change} on ${base}, which was interrupted.`;
  const earlier = request.dryRun ? null : await finishMove(landing);
  if (earlier !== null) return await conclude(landing, [earlier.from, earlier.to]);
  if ((await commitsBeyond(project.root, baseTip, tip)) === 0)
    return `Nothing to land: ${branch} has no commits beyond ${base}.`;
  if (!(await mayLand(landing))) return 'Cancelled.';
  try {
    const { commit, proof } = await rehearse(landing);
    if ((await commitsBeyond(project.root, baseTip, commit)) === 0)
      return `Nothing to land: ${base} already contains ${branch}.`;
    if (proof !== null && !(await mayLandUnproven(landing, proof))) return 'Cancelled.';
    if (request.dryRun) return `Would land ${change} on ${base}: ${await sizeOf(landing, [baseTip, commit])}.`;
    await fastForwardBase(landing, commit);
    if (proof !== null) saveLedger({ project, change, env: request.env }, proof.ledger);
    return await conclude(landing, [baseTip, commit]);
  } finally {
    await removeStaging(request, staging);
  }
};

/** Records the landing and cleans up after the base has moved. Returns a line that describes what has landed. */
const conclude = async (landing: Landing, [from, commit]: readonly [string, string]): Promise<string> => {
  const { project, change, base, branch } = landing;
  const run = (await readState(project, change))?.run ?? null;
  writeLanded(project, change, { v: 1, run, branch, base, commit, at: new Date().toISOString() });
  const size = await sizeOf(landing, [from, commit]);
  const branchOutcome = await cleanUp(landing, commit);
  dropLandingInProgress(userStateFolder(project, change, landing.env));
  setLandingNote({ project, change, env: landing.env }, null);
  return `Landed ${change} on ${base}: ${size}. ${branchOutcome} Not pushed.`;
};

/** `2 commits, 3 files (+10 -2)` */
const sizeOf = async ({ project }: Landing, [from, to]: readonly [string, string]): Promise<string> => {
  const range = await rangeBetween(project.root, from, to);
  return `${pluralise(range.commits, 'commit')}, ${pluralise(range.files, 'file')} (${lineChanges(range)})`;
};

/** Returns a string, the reason, if there is nothing to land. */
const planLanding = async (request: LandRequest, staging: string): Promise<Landing | string> => {
  const { project, change, say } = request;
  const { view, damage } = await loadRun(project, change);
  if (damage !== null) say(damage);
  const branch = view?.workspace?.branch ?? branchOf(change);
  const tip = await tipOf(project.root, branch);
  if (tip === null) {
    const landed = readLanded(project, change);
    if (landed?.branch === branch) return `${branch} has landed on ${landed.base} already`;
    throw userError('no-branch', branch, 'land', commandLine('spool', 'ralph', '--change', change, '--worktree'));
  }
  const base = request.onto ?? (await findBase(request, branch));
  if (base === null || base === branch) throw userError('no-base', branch, '--onto');
  const baseTip = await tipOf(project.root, base);
  if (baseTip === null) throw userError('bad-branch', base, 'no such branch; choose another with --onto.');
  const hasWorktree = await isWorktree(project.root, worktreePath(project, change));
  const prefix = await prefixOf(project.root);
  const landing = { ...request, branch, base, baseTip, tip, prefix, hasWorktree, staging };
  if (!request.dryRun) await recoverDisplaced(landing);
  await refuseDirty(landing);
  return landing;
};

/** Returns the branch to land on. The git config decides only if no run has recorded it. */
const findBase = async ({ project, change, env }: LandRequest, branch: string): Promise<string | null> => {
  const recorded = recordedBase(userStateFolder(project, change, env), branch);
  return recorded === undefined ? await configuredBase(project.root, branch) : recorded;
};

/** A change whose last run is not complete lands only with --force, or if the user confirms. */
const mayLand = async ({ project, change, target, branch, env, force, confirm }: Landing): Promise<boolean> => {
  const why = force ? null : await whyIncomplete(project, { target, branch, env });
  if (why === null) return true;
  if (confirm === null) throw userError('not-complete', change, why);
  return confirm(`${change} is not complete (${why}). Land it anyway?`);
};

/** The same if its scenarios must be proven, and what would land does not prove them. */
const mayLandUnproven = async ({ change, base, confirm }: Landing, { why }: LandProof): Promise<boolean> => {
  if (why === null) return true;
  const rebased = `after rebasing onto ${base}: ${why}`;
  if (confirm === null)
    throw userError('unproven-scenarios', change, rebased, 'Nothing was changed. Land it anyway with --force.');
  return confirm(`${change} is not proven (${rebased}). Land it anyway?`);
};

const removeStaging = async ({ project, say }: LandRequest, staging: string): Promise<void> => {
  await terminateLeftovers(tagForPath(staging));
  const removed = await discardWorktree(project.root, staging);
  if (!removed.ok) say(`${relative(project.root, staging)} could not be removed: ${removed.why}.`);
};

/** Throws if the worktree has work that is not on the branch: it would not be landed. */
const refuseDirty = async (landing: Landing): Promise<void> => {
  const { project, change, branch, hasWorktree } = landing;
  const worktree = worktreePath(project, change);
  if (!hasWorktree) return;
  const dirtyReason = await whyDirty(landing, worktree);
  if (dirtyReason !== null) throw userError('dirty-worktree', relative(project.root, worktree), branch, dirtyReason);
};

/**
 * Removes the worktree and the branch, unless they have changed since the landing began. Returns a sentence about the
 * branch.
 */
const cleanUp = async (landing: Landing, commit: string): Promise<string> => {
  const { project, change, target, branch, tip, prefix, say } = landing;
  const worktree = worktreePath(project, change);
  if ((await tipOf(project.root, branch)) !== tip) return 'Branch kept: it has new commits.';
  if (await isWorktree(project.root, worktree)) {
    const where = relative(project.root, worktree);
    if ((await whyDirty(landing, worktree)) !== null || (await containsRepositories(worktree)))
      return `Branch kept: there is work in ${where}.`;
    const results = await filesLostWith(project, target, { worktree, root: join(worktree, prefix) });
    if (results.length > 0) {
      say(keptNotice(results, where));
      await moveKeeping(worktree, branch, commit);
      return 'Branch kept.';
    }
    const deleted = await deletionNotices(worktree);
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
