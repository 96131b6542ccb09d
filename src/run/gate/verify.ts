import type { Options } from '../../config/flags.ts';
import { allowedEnvironment } from '../../process/scope.ts';
import type { Sandbox } from '../../process/sandbox-types.ts';
import { runShell, type ShellResult, type ShellRun } from '../../process/shell.ts';
import { gitCeilingEnv } from '../context.ts';
import { type CommandResults, runWithoutResults, runWithReports } from './command-results.ts';

/** Where verify commands run, and for how long they may. */
export interface VerifyContext extends Pick<ShellRun, 'stopSignals' | 'redactor'> {
  /** The folder in which they run. */
  readonly root: string;
  /** The worktree that it is in; null if it is in none. */
  readonly worktree: string | null;
  readonly env: NodeJS.ProcessEnv;
  readonly sandbox: Sandbox | null;
  readonly options: Pick<Options, 'verifyTimeout' | 'stopGrace'>;
  /** What the limits of the run leave, in milliseconds. */
  readonly timeLeftMs: () => number;
}

export interface VerifyCommand extends Pick<ShellRun, 'command' | 'tag' | 'logFile'> {
  /** Patterns for its reports; null if nothing depends on its test results. */
  readonly reports: readonly string[] | null;
}

export type VerifyResult = ShellResult & CommandResults;

/** Runs a verify command once: for the gate, for --red-first, or for a landing. */
export const runVerify = async (
  context: VerifyContext,
  { command, tag, logFile, reports }: VerifyCommand,
): Promise<VerifyResult> => {
  const { root, env, sandbox, redactor, stopSignals, options } = context;
  const run = (extra: Pick<ShellRun, 'env' | 'onStdout'>) =>
    runShell({
      command,
      cwd: root,
      tag,
      logFile,
      ...extra,
      env: { ...allowedEnvironment(env), ...gitCeilingEnv(context), ...extra.env },
      timeoutMs: Math.max(1, Math.min(options.verifyTimeout, context.timeLeftMs())),
      stopGraceMs: options.stopGrace,
      stopSignals,
      redactor,
      sandbox,
    });
  const files = { root, sandbox, env };
  if (reports === null) return { ...(await runWithoutResults(files, run)), tests: [], problems: [] };
  const { result, ...found } = await runWithReports({ ...files, patterns: reports }, run);
  return { ...result, ...found };
};
