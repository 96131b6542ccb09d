import { whyNoGit } from './guards.ts';
import type { GitArguments } from './inert.ts';
import { type GitCall, type GitResult, runGit } from './run.ts';
import { requireRecentGit } from './version.ts';

export type { GitArguments } from './inert.ts';
export type { GitCall, GitResult } from './run.ts';

/**
 * Runs one git command. Programs that the repository names do not run, except filters, and hooks if requested. A
 * failure of git, even a missing git, is a result, not an exception. Only a git that is too old is an exception.
 */
export const git = async (args: GitArguments, call: GitCall): Promise<GitResult> => {
  await requireRecentGit(call.cwd);
  const why = await whyNoGit(call.cwd);
  return why === null ? runGit(args, call) : { code: refusedCode, stdout: '', stderr: why };
};

/** The exit code of git if it refuses to use a repository. */
const refusedCode = 128;
