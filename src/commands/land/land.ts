import { join, relative } from 'node:path';
import { userError } from '../../errors.ts';
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
} from '../../git/branches.ts';
import { readable } from '../../git/git.ts';
import { hurryGit, whyGivenUp } from '../../git/hurry.ts';
import { findWorkTree, gitFolderOf, unfinished } from '../../git/worktree.ts';
import { endRun, familyAt } from '../../processes.ts';
import { resolveChange } from '../../project/changes.ts';
import { dropCopies } from '../../project/copies.ts';
import { dropFromContext } from '../../project/context.ts';
import { findProject, trialPath, worktreePath } from '../../project/find.ts';
import { branchOf } from '../../project/ids.ts';
import { readLanded, writeLanded } from '../../project/landed.ts';
import { recordFolder } from '../../project/record.ts';
import { dropUnderway } from '../../project/underway.ts';
import { isAmong, planned } from '../../project/planned.ts';
import { readRun, readState } from '../../project/state.ts';
import { lockChange } from '../../project/loop-lock.ts';
import { count, oneLine } from '../../report/format.ts';
import { commandLine } from '../../shell-words.ts';
import type { Call } from '../command.ts';
import { deletedWith, resultsIn, staysFor } from '../ralph/results.ts';
import { exitCodeOf, listenForStops } from '../ralph/signals.ts';
import { moveAhead } from './ahead.ts';
import { whyIncomplete } from './complete.ts';
import type { Landing, LandRequest } from './landing.ts';
import { finishMove, recoverAside } from './recover.ts';
import { trustLanding } from './settings.ts';
import { isConflictNote, tryOut } from './trial.ts';

/** How long git may take for what it does when the landing is asked to stop. */
const landGraceMs = 5000;

/** Brings the branch of a change to where it began: rebased, verified, and then only moved ahead. */
export const run = async (call: Call): Promise<number> => {
  const project = findProject(call.cwd);
  const change = await resolveChange(project, call.argument!);
  const folder = await gitFolderOf(project.root);
  if (folder === null) throw userError('no-git', project.root, 'it is no git repository');
  const settings = await trustLanding(project, change, call);
  const lock = lockChange(project, change, { treeFolder: folder });
  const stops = listenForStops(() => {});
  const release = hurryGit({ ...stops, graceMs: () => landGraceMs });
  try {
    return await land({ project, change, call, stops, settings });
  } catch (error) {
    const signal = stops.received();
    // A git that was ended answers nothing: what was made of that is not the reason.
    if (signal === null || whyGivenUp() === null) throw error;
    const again = commandLine('spool', 'land', change);
    throw userError('interrupted', exitCodeOf(signal), `git did not answer; finish it with "${again}"`);
  } finally {
    release();
    stops.dispose();
    lock.release();
  }
};

const land = async (request: LandRequest): Promise<number> => {
  const { project, change, call } = request;
  const trial = trialPath(project, change);
  // A landing that was killed may have left one.
  await removeTrial(request, trial);
  const landing = await planLanding(request, trial);
  if (typeof landing === 'string') return answer(call, `Nothing to land: ${landing}.`);
  const { base, baseTip, branch, tip } = landing;
  const earlier = await finishMove(landing);
  if (earlier !== null) return answer(call, await conclude(landing, [earlier.from, earlier.to]));
  if ((await commitsBeyond(project.root, baseTip, tip)) === 0)
    return answer(call, `Nothing to land: ${branch} has no commits beyond ${base}.`);
  if (!(await mayLand(landing))) return answer(call, 'Cancelled.');
  try {
    const commit = await tryOut(landing);
    if ((await commitsBeyond(project.root, baseTip, commit)) === 0)
      return answer(call, `Nothing to land: ${base} has what is on ${branch} already.`);
    await moveAhead(landing, commit);
    return answer(call, await conclude(landing, [baseTip, commit]));
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
  dropUnderway(recordFolder(project, change, landing.call.env));
  dropFromContext({ project, change, env: landing.call.env }, isConflictNote);
  const lines = `+${range.insertions} −${range.deletions}`;
  const size = `${count(range.commits, 'commit')}, ${count(range.files, 'file')} (${lines})`;
  return `Landed ${change} on ${base}: ${size}. ${fate} Not pushed.`;
};

const answer = (call: Call, text: string): number => {
  call.terminal.out(`${text}\n`);
  return 0;
};

/** Why there is nothing to land, when there is not. */
const planLanding = async (request: LandRequest, trial: string): Promise<Landing | string> => {
  const { project, change, call } = request;
  const { view, damage } = await readRun(project, change);
  if (damage !== null) call.terminal.say(`${damage}\n`);
  const branch = view?.place?.branch ?? branchOf(change);
  const tip = await tipOf(project.root, branch);
  if (tip === null) {
    const landed = await readLanded(project, change);
    if (landed?.branch === branch) return `${branch} has landed on ${landed.base} already`;
    throw userError('no-branch', branch, commandLine('spool', 'ralph', '--change', change, '--worktree'));
  }
  const base = (call.typed.onto as string | undefined) ?? (await baseOf(project.root, branch));
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

/** A change whose last run is not complete lands only with --force, or after a yes. */
const mayLand = async ({ project, change, branch, call }: Landing): Promise<boolean> => {
  const why = call.typed.force ? null : await whyIncomplete(project, { change, branch, env: call.env });
  if (why === null) return true;
  if (!call.terminal.canAsk) throw userError('not-complete', change, why);
  const { confirm } = await import('../../report/ask.ts');
  return confirm(`${change} is not complete (${why}). Land it anyway?`);
};

const removeTrial = async ({ project, call }: LandRequest, trial: string): Promise<void> => {
  await endRun(familyAt(trial));
  const removed = await discardWorktree(project.root, trial);
  if (!removed.ok) call.terminal.say(`${relative(project.root, trial)} could not be removed: ${removed.why}.\n`);
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
  const busy = found.kind === 'found' ? unfinished(found.tree) : null;
  if (busy !== null) return `${busy} is in progress`;
  const there = await currentBranch(worktree);
  if (there !== branch) return `it is on ${there ?? 'no branch'}`;
  const dirty = await dirtyPaths(worktree);
  if (dirty === null) return 'git cannot tell what is in it';
  const copies = (await planned(project, change)).map((path) => `${prefix}${path}`);
  const file = dirty.map(readable).find((path) => !isAmong(copies, path));
  return file === undefined ? null : `${oneLine(file)} is not committed`;
};

/** What has landed needs no place of its own any more; but what came after it was looked at does. Says what became of the branch. */
const tidy = async (landing: Landing, commit: string): Promise<string> => {
  const { project, change, branch, tip, prefix, call } = landing;
  const worktree = worktreePath(project, change);
  if ((await tipOf(project.root, branch)) !== tip) return 'Branch kept: it has new commits.';
  if (await isWorktree(project.root, worktree)) {
    const where = relative(project.root, worktree);
    if ((await looseIn(landing, worktree)) !== null || (await holdsRepositories(worktree)))
      return `Branch kept: there is work in ${where}.`;
    const results = await resultsIn(project, change, { worktree, root: join(worktree, prefix) });
    if (results.length > 0) {
      call.terminal.say(`${staysFor(results, where)}\n`);
      await resetKeeping(worktree, commit);
      return 'Branch kept.';
    }
    const deleted = await deletedWith(worktree);
    const removed = await removeWorktree(project.root, worktree);
    if (removed.ok) for (const line of deleted) call.terminal.say(`${line}\n`);
  }
  if (!(await moveBranch(project.root, branch, [tip, commit]))) return 'Branch kept: it is checked out.';
  dropCopies(project, change);
  if (call.typed.keepBranch) return 'Branch kept.';
  return (await deleteBranch(project.root, branch, commit))
    ? 'Branch deleted.'
    : 'Branch kept: git refuses to delete it.';
};
