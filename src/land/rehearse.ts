import { join, relative } from 'node:path';
import { userError } from '../errors.ts';
import { createFolder } from '../files/own.ts';
import { addDetached, blobAt, type Conflict, rebaseOnto } from '../git/branches.ts';
import { toUtf8 } from '../git/git.ts';
import { runShell, type ShellResult } from '../process/shell.ts';
import { tagForPath, tagVariable } from '../process/tree.ts';
import { passed } from '../process/scope.ts';
import { addContext, dropFromContext, loadContext } from '../store/context.ts';
import { mergeCopies } from '../changes/copies.ts';
import { changeOf } from '../changes/sources.ts';
import { ralphFolder } from '../store/state.ts';
import { hideWorktreesFromGit, makeRalphFolder } from '../store/folders.ts';
import { createRedactor } from '../secrets/redact.ts';
import { oneLine } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import { changedIn, decidingIn } from '../trust/running.ts';
import { visible } from '../text/visible.ts';
import { provision } from '../run/workspace.ts';
import { openFor } from '../run/sandbox.ts';
import { exitCodeOf, type StopSignals } from '../process/signals.ts';
import type { Landing } from './landing.ts';

/** Rebased and verified; answers with the commit to which the base can be moved. */
export const rehearse = async (landing: Landing): Promise<string> => {
  const { project, branch, base, tip, trial, stopSignals } = landing;
  const stoppable = { kill: stopSignals.stop, env: { [tagVariable]: `${tagForPath(trial)}/git` } };
  hideWorktreesFromGit(project);
  endIfStopped(stopSignals);
  const added = await addDetached(project.root, [trial, tip], stoppable);
  endIfStopped(stopSignals);
  if (!added.ok) throw userError('bad-branch', branch, added.why);
  const rebased = await rebaseOnto(trial, { base, stoppable, resolve: resolveConflict(landing) });
  endIfStopped(stopSignals);
  if (rebased.kind === 'failed') throw userError('bad-branch', branch, rebased.why);
  if (rebased.kind === 'conflict') return conflict(landing, rebased.files.map(toUtf8));
  await verify(landing);
  endIfStopped(stopSignals);
  return rebased.commit;
};

/**
 * Ticks of the agent and tasks that were added on the base meanwhile are no conflict, and neither are commits on the way
 * to a file that the base has by now.
 */
const resolveConflict =
  ({ project, change, prefix, tip, baseTip }: Landing) =>
  async (file: string, { base, upstream, own }: Conflict): Promise<Buffer | null> => {
    const [before, after] = [await blobAt(project.root, baseTip, file), await blobAt(project.root, tip, file)];
    if (before !== null && after?.equals(before)) return before;
    const { tasksFile } = changeOf(project, change);
    if (file !== `${prefix}${tasksFile}` || upstream === null || own === null) return null;
    const merged = await mergeCopies(tasksFile, { base, mine: upstream, theirs: own });
    return merged.kind === 'merged' ? merged.bytes : null;
  };

/** From the moment the base is moved, nothing is cut short any more. */
const endIfStopped = (stopSignals: StopSignals): void => {
  const signal = stopSignals.received();
  if (signal !== null) throw userError('interrupted', exitCodeOf(signal), 'nothing was moved');
};

/** How much of a file name, and how many of them, a prompt has. */
const longestName = 200;
const mostNames = 20;

/** The names that agents give to files stand between quotes, so that they are not read as words of the user. */
const quotedNames = (names: readonly string[]): string => {
  const shown = names.slice(0, mostNames).map((name) => visible(JSON.stringify(oneLine(name, longestName))));
  const more = names.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
};

/** The next run is told, once. */
const conflict = ({ project, change, branch, base, env, settings }: Landing, files: readonly string[]): never => {
  const of = { project, change, env };
  const note = oneLine(
    `Landing on ${base} failed: the work conflicts with it in ${quotedNames(files)}. Rebase ${branch} on ${base} (${commandLine('git', 'rebase', base)}), resolve the conflicts, and verify the work again.`,
    Infinity,
  );
  dropFromContext(of, (line) => isConflictNote(line) && line !== note);
  const told = loadContext(of).text?.split('\n').includes(note);
  if (!told) addContext(of, note);
  const flags = ['--worktree', ...(settings.sandbox ? ['--sandbox'] : [])];
  throw userError('land-conflict', base, files.join(', '), commandLine('spool', 'ralph', '--change', change, ...flags));
};

export const isConflictNote = (line: string): boolean =>
  line.startsWith('Landing on ') &&
  line.includes(' failed: the work conflicts with it in ') &&
  line.endsWith(' and verify the work again.');

/** The gate of the last run, or of the config file and the flags, in a work tree that is set up like that of a run. */
const verify = async (landing: Landing): Promise<void> => {
  const { project, change, env, cwd, say, stopSignals, trial, prefix } = landing;
  const { options, commands, sandbox: isConfined, checkIn } = landing.settings;
  if (commands.length === 0) return;
  makeRalphFolder(project, change);
  const logFile = join(ralphFolder(project, change), 'land.log');
  const log = relative(project.root, logFile);
  const family = tagForPath(trial);
  const root = join(trial, prefix);
  createFolder(root);
  const opening = isConfined ? openFor({ project, options, cwd, env, stop: stopSignals.stop }, family, []) : null;
  const sandbox = await opening?.catch((error: unknown) => {
    endIfStopped(stopSignals);
    throw error;
  });
  const redactor = createRedactor(env);
  const place = { env: passed(env), logFile, stopSignals, redactor, sandbox: sandbox ?? null };
  const passes = async (outcome: Promise<ShellResult['outcome']>): Promise<boolean> => {
    const result = await outcome;
    endIfStopped(stopSignals);
    return result === 'passed';
  };

  const checkSetup = () =>
    checkIn(root, (path) => commandLine('git', 'diff', landing.base, landing.branch, '--', path));
  const setUpAndVerify = async () => {
    if (options.worktreeSetup !== null) say(`Setting up: ${redactor.text(options.worktreeSetup)}`);
    if (!(await passes(provision({ ...place, project, options, root, family, checkSetup }))))
      throw userError('setup-failed', redactor.text(options.worktreeSetup ?? ''), log);
    const deciding = decidingIn(root, commands);
    for (const command of commands) {
      // The setup, or the command before, may have run what is on the branch.
      checkSetup();
      say(`Verifying: ${redactor.text(command)}`);
      const result = runShell({
        ...place,
        command,
        cwd: root,
        tag: `${family}/verify`,
        timeoutMs: options.verifyTimeout,
        stopGraceMs: options.stopGrace,
      });
      if (!(await passes(result.then(({ outcome }) => outcome))))
        throw userError('land-verify-failed', redactor.text(command), log);
      const [moved] = changedIn(root, deciding);
      if (moved !== undefined) throw userError('land-gate-changed', redactor.text(command), moved);
    }
  };
  try {
    await setUpAndVerify();
  } finally {
    await sandbox?.close();
  }
};
