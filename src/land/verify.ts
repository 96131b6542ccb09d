import { join, relative } from 'node:path';
import { userError } from '../errors.ts';
import { createFolderInside } from '../files/write-inside.ts';
import type { Sandbox } from '../process/sandbox-types.ts';
import { allowedEnvironment } from '../process/scope.ts';
import { tagForPath } from '../process/tree.ts';
import type { CommandResult } from '../proof/next-ledger.ts';
import { hasPassed } from '../ralph/gate-result.ts';
import { gateCommands } from '../ralph/plan.ts';
import { runVerify } from '../run/gate/verify.ts';
import { openSandboxFor } from '../run/sandbox.ts';
import { provision } from '../run/workspace/provision.ts';
import { createRedactor, type Redactor } from '../secrets/redact.ts';
import { makeRalphFolder } from '../store/folders.ts';
import { landLog } from '../store/paths.ts';
import { commandLine } from '../text/shell-words.ts';
import { changedFiles, deciderHashes } from '../trust/command-files.ts';
import type { Landing } from './landing.ts';
import { throwIfStopped } from './stopped.ts';

/**
 * Runs the commands in the staging worktree, which is set up like the worktree of a run. Returns their results, with the
 * tests that they have reported.
 */
export const verifyLanding = async (landing: Landing): Promise<CommandResult[]> => {
  const { project, change, env, staging, prefix, settings } = landing;
  const { commands: verify, proof } = settings;
  const commands = gateCommands({ verify, scenarioCommands: proof?.scenarioCommands ?? {} });
  if (commands.length === 0) return [];
  makeRalphFolder(project, change);
  createFolderInside(staging, prefix);
  const sandbox = await openSandbox(landing);
  try {
    const staged = { root: join(staging, prefix), sandbox, redactor: createRedactor(env) };
    await setUp(landing, staged);
    return await runCommands(landing, staged, commands);
  } finally {
    await sandbox?.close();
  }
};

/** The staging worktree. */
interface Staged {
  /** The folder of the project in it. */
  readonly root: string;
  readonly sandbox: Sandbox | null;
  readonly redactor: Redactor;
}

const openSandbox = async ({ project, env, cwd, staging, settings, stopSignals }: Landing) => {
  if (!settings.sandbox) return null;
  const request = { project, options: settings.options, cwd, env, stop: stopSignals.stop };
  try {
    return await openSandboxFor(request, tagForPath(staging), []);
  } catch (error) {
    throwIfStopped(stopSignals);
    throw error;
  }
};

/** Throws if a command would run a file that differs from the trusted one. */
const checkTrusted = ({ settings, base, branch }: Landing, root: string): void =>
  settings.checkIn(root, (path) => commandLine('git', 'diff', base, branch, '--', path));

const setUp = async (landing: Landing, { root, sandbox, redactor }: Staged): Promise<void> => {
  const { project, change, env, staging, settings, stopSignals, say } = landing;
  const { options } = settings;
  const setup = redactor.text(options.worktreeSetup ?? '');
  if (options.worktreeSetup !== null) say(`Setting up: ${setup}`);
  const logFile = landLog(project, change);
  const outcome = await provision({
    project,
    options,
    env: allowedEnvironment(env),
    root,
    logFile,
    tagPrefix: tagForPath(staging),
    stopSignals,
    redactor,
    sandbox,
    checkSetup: () => checkTrusted(landing, root),
  });
  throwIfStopped(stopSignals);
  if (outcome !== 'passed') throw userError('setup-failed', setup, relative(project.root, logFile));
};

const runCommands = async (
  landing: Landing,
  { root, sandbox, redactor }: Staged,
  commands: readonly string[],
): Promise<CommandResult[]> => {
  const { project, change, env, staging, settings, stopSignals, say } = landing;
  const { options, proof } = settings;
  const verifyContext = {
    root,
    worktree: staging,
    env,
    sandbox,
    redactor,
    stopSignals,
    options,
    timeLeftMs: () => Infinity,
  };
  const logFile = landLog(project, change);
  const deciding = deciderHashes(root, commands);
  const results: CommandResult[] = [];
  for (const command of commands) {
    // The setup or an earlier command may have changed files.
    checkTrusted(landing, root);
    say(`Verifying: ${redactor.text(command)}`);
    const tag = `${tagForPath(staging)}/verify`;
    const result = await runVerify(verifyContext, { command, tag, logFile, reports: proof?.reports ?? null });
    throwIfStopped(stopSignals);
    if (!hasPassed(result))
      throw userError('land-verify-failed', redactor.text(command), relative(project.root, logFile));
    results.push({ command, outcome: result.outcome, exitCode: result.exitCode, tests: result.tests });
    const [changed] = changedFiles(root, deciding);
    if (changed !== undefined) throw userError('land-gate-changed', redactor.text(command), changed);
  }
  return results;
};
