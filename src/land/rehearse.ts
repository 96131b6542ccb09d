import { userError } from '../errors.ts';
import { addDetached } from '../git/linked-worktrees.ts';
import { blobAt } from '../git/branches.ts';
import { type Conflict, rebaseOnto } from '../git/rebase.ts';
import { toUtf8 } from '../git/paths.ts';
import { tagForPath, tagVariable } from '../process/tree.ts';
import { setLandingNote } from '../store/added-context.ts';
import { isTaskList, mergeCopies } from '../changes/copies.ts';
import { hideWorktreesFromGit } from '../store/folders.ts';
import { createRedactor, type Redactor } from '../secrets/redact.ts';
import { joinLines } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import { visible } from '../text/escape-hidden.ts';
import type { Landing } from './landing.ts';
import { type LandProof, proveLanding } from './prove.ts';
import { throwIfStopped } from './stopped.ts';
import { verifyLanding } from './verify.ts';

export interface Rehearsed {
  /** The commit to which the base can be moved. */
  readonly commit: string;
  /** What the commands have proven about it; null if nothing must be proven. */
  readonly proof: LandProof | null;
}

/** Rebases and verifies the branch in the staging worktree. */
export const rehearse = async (landing: Landing): Promise<Rehearsed> => {
  const { project, branch, base, tip, staging, stopSignals } = landing;
  const stoppable = { kill: stopSignals.stop, env: { [tagVariable]: `${tagForPath(staging)}/git` } };
  hideWorktreesFromGit(project);
  throwIfStopped(stopSignals);
  const added = await addDetached(project.root, [staging, tip], stoppable);
  throwIfStopped(stopSignals);
  if (!added.ok) throw userError('bad-branch', branch, added.why);
  const rebased = await rebaseOnto(staging, { base, stoppable, resolve: resolveConflict(landing) });
  throwIfStopped(stopSignals);
  if (rebased.kind === 'failed') throw userError('bad-branch', branch, rebased.why);
  if (rebased.kind === 'conflict') return reportConflict(landing, rebased.files.map(toUtf8));
  const { commit } = rebased;
  const commands = await verifyLanding(landing);
  throwIfStopped(stopSignals);
  return { commit, proof: landing.settings.proof && (await proveLanding(landing, { commit, commands })) };
};

/**
 * Resolves two kinds of conflicts: ticks of the agent with tasks that were added on the base, and files that are the
 * same at both tips. Returns null for any other.
 */
const resolveConflict =
  ({ project, target, prefix, tip, baseTip }: Landing) =>
  async (file: string, { base, upstream, own }: Conflict): Promise<Buffer | null> => {
    const [before, after] = [await blobAt(project.root, baseTip, file), await blobAt(project.root, tip, file)];
    if (before !== null && after?.equals(before)) return before;
    if (file !== `${prefix}${target.tasksFile}` || upstream === null || own === null) return null;
    const merged = await mergeCopies({
      base,
      mine: upstream,
      theirs: own,
      isTasks: isTaskList(target, target.tasksFile),
    });
    return merged.kind === 'merged' ? merged.bytes : null;
  };

/** Limits for file names in a prompt. */
const maxNameLength = 200;
const maxNames = 20;

/** Agents choose the names of files. The names are quoted so that they are not read as instructions of the user. */
const quotedNames = (names: readonly string[], redactor: Redactor): string => {
  const shown = names.slice(0, maxNames).map((name) => visible(JSON.stringify(redactor.oneLine(name, maxNameLength))));
  const more = names.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
};

/** Leaves a note in the context of the next run, unless it is a dry run. */
const reportConflict = (landing: Landing, files: readonly string[]): never => {
  const { project, change, branch, base, env, settings, dryRun } = landing;
  const note = joinLines(
    `Landing on ${base} failed: the work conflicts with it in ${quotedNames(files, createRedactor(env))}. Rebase ${branch} on ${base} (${commandLine('git', 'rebase', base)}), resolve the conflicts, and verify the work again.`,
  );
  if (!dryRun) setLandingNote({ project, change, env }, note);
  const flags = ['--worktree', ...(settings.sandbox ? ['--sandbox'] : [])];
  throw userError('land-conflict', base, files.join(', '), commandLine('spool', 'ralph', '--change', change, ...flags));
};
