import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { renameEarlier } from '../../files/rename-earlier.ts';
import { linkFolder } from '../../files/folders.ts';
import { createFolderInside } from '../../files/write-inside.ts';
import { prefixOf } from '../../git/repository.ts';
import { addDetached } from '../../git/linked-worktrees.ts';
import { restoreFiles } from '../../git/restore-files.ts';
import { allowedEnvironment } from '../../process/scope.ts';
import { tagForPath, tagVariable } from '../../process/tree.ts';
import type { CommandResult } from '../../proof/next-ledger.ts';
import { readSourceLinks, type SourceLinks } from '../../proof/source-files.ts';
import { gateCommands } from '../../ralph/plan.ts';
import { hideWorktreesFromGit } from '../../store/folders.ts';
import { trialLog, trialWorktree } from '../../store/paths.ts';
import type { RunContext } from '../context.ts';
import { timeLeftNow } from '../deadline.ts';
import { provision } from '../workspace/provision.ts';
import { removeTrial } from './remove-trial.ts';
import { runVerify } from './verify.ts';

export type TrialContext = Pick<
  RunContext,
  | 'project'
  | 'workProject'
  | 'plan'
  | 'options'
  | 'env'
  | 'folder'
  | 'stopSignals'
  | 'redactor'
  | 'sandbox'
  | 'trusted'
  | 'elapsedMs'
>;

export interface TrialRequest {
  /** Names the logs. */
  readonly name: string;
  readonly iteration: number;
  /** The commit to try. */
  readonly commit: string;
  /** Files to take from another commit, named as git prints them. */
  readonly files?: { readonly from: string; readonly names: readonly string[] };
}

export type Trial =
  | { readonly kind: 'done'; readonly commands: readonly CommandResult[]; readonly sources: SourceLinks['links'] }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'interrupted' };

/**
 * Runs the commands of the gate once in a throw-away worktree of a commit. It is set up like the worktree of a run, and
 * deleted in the end; if Spool is killed, before the next trial or run.
 */
export const runTrial = async (context: TrialContext, request: TrialRequest): Promise<Trial> => {
  const { project, plan } = context;
  const path = trialWorktree(project, plan.change);
  try {
    return await tryIn(path, context, request);
  } finally {
    await removeTrial(project, plan.change);
  }
};

const tryIn = async (path: string, context: TrialContext, request: TrialRequest): Promise<Trial> => {
  const { project, stopSignals, options } = context;
  const { commit, files } = request;
  await removeTrial(project, context.plan.change);
  hideWorktreesFromGit(project);
  const stoppable = { kill: stopSignals.stop, env: { [tagVariable]: `${tagForPath(path)}/git` } };
  const added = await addDetached(project.root, [path, commit], stoppable);
  if (stopSignals.received() !== null) return { kind: 'interrupted' };
  if (!added.ok) return { kind: 'failed', why: `git could not create a worktree: ${added.why}` };
  const restored = files === undefined ? { ok: true as const } : await restoreFiles(path, files.from, files.names);
  if (!restored.ok) return { kind: 'failed', why: `git could not restore the tests: ${restored.why}` };
  const prefix = await prefixOf(project.root);
  createFolderInside(path, prefix);
  const root = join(path, prefix);
  if (options.worktreeSetup === null) linkDependencies(context.workProject.root, root);
  const setup = await setUp(context, request, { path, root });
  if (stopSignals.received() !== null) return { kind: 'interrupted' };
  if (setup !== 'passed') return { kind: 'failed', why: 'the worktree setup failed' };
  const commands: CommandResult[] = [];
  for (const [index, command] of gateCommands(context.plan.gate).entries()) {
    commands.push(await runCommand(context, command, { ...request, index, path, root }));
    if (stopSignals.received() !== null) return { kind: 'interrupted' };
  }
  return { kind: 'done', commands, sources: (await readSourceLinks(root)).links };
};

/** Folders with packages, which git ignores. Without a setup, those of the workspace are used. */
const dependencyFolders = ['node_modules', '.venv', 'venv', 'vendor'];

const linkDependencies = (from: string, to: string): void => {
  for (const name of dependencyFolders)
    if (existsSync(join(from, name)) && !existsSync(join(to, name))) linkFolder(join(from, name), join(to, name));
};

interface TrialFolders {
  readonly path: string;
  /** The folder of the project in it. */
  readonly root: string;
}

const setUp = (context: TrialContext, { name, iteration }: TrialRequest, { path, root }: TrialFolders) => {
  const { project, options, plan, env, folder, trusted, stopSignals, redactor, sandbox } = context;
  return provision({
    project,
    options,
    env: allowedEnvironment(env),
    root,
    logFile: trialLog(folder, iteration, `${name}-setup`),
    tagPrefix: tagForPath(path),
    stopSignals,
    redactor,
    sandbox,
    checkSetup: (at) => trusted.checkIn(at, { options, plan, previous: null }, 'worktreeSetup'),
  });
};

const runCommand = async (
  context: TrialContext,
  command: string,
  { name, iteration, index, path, root }: TrialRequest & TrialFolders & { readonly index: number },
): Promise<CommandResult> => {
  const { plan, folder } = context;
  const verifyContext = { ...context, root, worktree: path, timeLeftMs: () => timeLeftNow(context) };
  const { outcome, exitCode, tests } = await runVerify(verifyContext, {
    command,
    tag: `${tagForPath(path)}/verify`,
    logFile: renameEarlier(trialLog(folder, iteration, `${name}-${index + 1}`)),
    reports: plan.gate.reports ?? [],
  });
  return { command, outcome, exitCode, tests };
};
