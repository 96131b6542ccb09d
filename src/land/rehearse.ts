import { join, relative } from 'node:path';
import { userError } from '../errors.ts';
import { createFolderInside } from '../files/write-inside.ts';
import { addDetached } from '../git/linked-worktrees.ts';
import { blobAt } from '../git/branches.ts';
import { type Conflict, rebaseOnto } from '../git/rebase.ts';
import { toUtf8 } from '../git/paths.ts';
import { runShell, type ShellResult, type ShellRun } from '../process/shell.ts';
import { tagForPath, tagVariable } from '../process/tree.ts';
import { allowedEnvironment } from '../process/scope.ts';
import { setLandingNote } from '../store/added-context.ts';
import { isTaskList, mergeCopies } from '../changes/copies.ts';
import { hideWorktreesFromGit, makeRalphFolder } from '../store/folders.ts';
import { createRedactor, type Redactor } from '../secrets/redact.ts';
import { joinLines } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import { changedFiles, deciderHashes } from '../trust/command-files.ts';
import { visible } from '../text/escape-hidden.ts';
import { provision } from '../run/workspace/provision.ts';
import { openSandboxFor } from '../run/sandbox.ts';
import { exitCodeOf, type StopSignals } from '../process/signals.ts';
import type { CommandResult } from '../proof/next-ledger.ts';
import { gateCommands } from '../ralph/plan.ts';
import { runWithoutResults, runWithReports } from '../run/gate/command-results.ts';
import type { Landing } from './landing.ts';
import { type LandProof, proveLanding } from './prove.ts';
import { landLog } from '../store/paths.ts';

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
  const commands = await verify(landing);
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

/** Called only before the base is moved: after that, a landing is not interrupted. */
const throwIfStopped = (stopSignals: StopSignals): void => {
  const signal = stopSignals.received();
  if (signal !== null) throw userError('interrupted', exitCodeOf(signal), 'nothing was moved');
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

type RunCommand = (extra: Pick<ShellRun, 'env' | 'onStdout'>) => Promise<ShellResult>;

/**
 * Runs the commands in the staging worktree, which is set up like the worktree of a run. Returns their results, with the
 * tests that they have reported.
 */
const verify = async (landing: Landing): Promise<CommandResult[]> => {
  const { project, change, env, cwd, say, stopSignals, staging, prefix } = landing;
  const { options, proof, sandbox: isSandboxed, checkIn } = landing.settings;
  const commands = gateCommands({ verify: landing.settings.commands, scenarioCommands: proof?.scenarioCommands ?? {} });
  if (commands.length === 0) return [];
  makeRalphFolder(project, change);
  const logFile = landLog(project, change);
  const log = relative(project.root, logFile);
  const tagPrefix = tagForPath(staging);
  const root = join(staging, prefix);
  createFolderInside(staging, prefix);
  const opening = isSandboxed
    ? openSandboxFor({ project, options, cwd, env, stop: stopSignals.stop }, tagPrefix, [])
    : null;
  const sandbox = await opening?.catch((error: unknown) => {
    throwIfStopped(stopSignals);
    throw error;
  });
  const redactor = createRedactor(env);
  const shellOptions = { env: allowedEnvironment(env), logFile, stopSignals, redactor, sandbox: sandbox ?? null };
  const passes = async (outcome: Promise<ShellResult['outcome']>): Promise<boolean> => {
    const result = await outcome;
    throwIfStopped(stopSignals);
    return result === 'passed';
  };

  const checkSetup = () =>
    checkIn(root, (path) => commandLine('git', 'diff', landing.base, landing.branch, '--', path));
  const setUpAndVerify = async () => {
    if (options.worktreeSetup !== null) say(`Setting up: ${redactor.text(options.worktreeSetup)}`);
    if (!(await passes(provision({ ...shellOptions, project, options, root, tagPrefix, checkSetup }))))
      throw userError('setup-failed', redactor.text(options.worktreeSetup ?? ''), log);
    const deciding = deciderHashes(root, commands);
    const results: CommandResult[] = [];
    for (const command of commands) {
      // The setup or an earlier command may have changed files.
      checkSetup();
      say(`Verifying: ${redactor.text(command)}`);
      const run: RunCommand = (extra) =>
        runShell({
          ...shellOptions,
          ...extra,
          env: { ...shellOptions.env, ...extra.env },
          command,
          cwd: root,
          tag: `${tagPrefix}/verify`,
          timeoutMs: options.verifyTimeout,
          stopGraceMs: options.stopGrace,
        });
      const files = { root, sandbox: shellOptions.sandbox, env };
      const { result, tests } = proof
        ? await runWithReports({ ...files, patterns: proof.reports }, run)
        : { result: await runWithoutResults(files, run), tests: [] };
      if (!(await passes(Promise.resolve(result.outcome))))
        throw userError('land-verify-failed', redactor.text(command), log);
      results.push({ ...result, command, tests });
      const [changed] = changedFiles(root, deciding);
      if (changed !== undefined) throw userError('land-gate-changed', redactor.text(command), changed);
    }
    return results;
  };
  try {
    return await setUpAndVerify();
  } finally {
    await sandbox?.close();
  }
};
