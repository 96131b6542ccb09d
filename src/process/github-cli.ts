import { userError } from '../errors.ts';
import { duration, joinLines } from '../text/format.ts';
import { runProgram } from './run-program.ts';
import { trustedProgram, untrustedAround, withTrustedPath } from './trusted-path.ts';
import { onPath } from './which.ts';

export interface GithubCall {
  readonly args: readonly string[];
  /** What gh reads from stdin. */
  readonly input?: string;
  /** Where gh runs. */
  readonly cwd: string;
  /** The project, from which gh is never taken. */
  readonly project: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stop: AbortSignal;
  readonly patienceMs: number;
  readonly maxOutput: number;
  /** What needs gh, for messages: a flag or a command. */
  readonly needed: string;
}

export type GithubAnswer =
  | { readonly ok: true; readonly stdout: string }
  | {
      readonly ok: false;
      /** Without a full stop. */
      readonly why: string;
      readonly isTooLong: boolean;
    };

/**
 * Runs gh, the GitHub CLI, without a shell and without questions. Throws if it is not installed, too old, or not signed
 * in. Every other failure is an answer.
 */
export const askGithub = async (call: GithubCall): Promise<GithubAnswer> => {
  const { args, input, cwd, project, env, stop, patienceMs, maxOutput, needed } = call;
  const untrusted = untrustedAround(project);
  const path = env.PATH ?? '';
  const binary = trustedProgram('gh', path, untrusted);
  if (binary === null) throw userError('no-gh', needed, onPath('gh', path));
  const { code, stdout, stderr, isCut, isTimedOut } = await runProgram({
    binary,
    args,
    ...(input !== undefined && { input }),
    env: { ...withTrustedPath(env, untrusted), ...plainAnswer },
    cwd,
    stop,
    patienceMs,
    maxOutput,
    isUselessIfCut: true,
  });
  const failure = (why: string, isTooLong = false): GithubAnswer => ({ ok: false, why, isTooLong });
  if (isCut) return failure('the answer of gh is too long', true);
  if (isTimedOut) return failure(`gh did not answer within ${duration(patienceMs)}`);
  if (code === needsSignIn || stderr.includes('HTTP 401')) throw userError('gh-signed-out');
  if (code !== 0 && /unknown (?:flag|command|JSON field)/i.test(stderr)) throw userError('old-gh', needed);
  if (code !== 0) return failure(firstLineOf(stderr) ?? `gh failed (exit code ${code ?? 'unknown'})`);
  return { ok: true, stdout };
};

/** The exit code of gh if it needs to sign in. */
const needsSignIn = 4;

/** gh asks nothing, and writes neither colors nor notices into its answer. */
const plainAnswer = {
  GH_PROMPT_DISABLED: '1',
  GH_NO_UPDATE_NOTIFIER: '1',
  GH_FORCE_TTY: '',
  GH_DEBUG: '',
  CLICOLOR_FORCE: '0',
};

/** Without the name of the protocol and the part of the query, as in `GraphQL: Could not … (repository.issue)`. */
const firstLineOf = (text: string): string | null =>
  text
    .split('\n')
    .map((line) => joinLines(line).trim())
    .map((line) =>
      line
        .replace(/^pull request create failed: /, '')
        .replace(/^GraphQL: (.*) \([\w.]+\)$/s, '$1')
        .replace(/\.$/, ''),
    )
    .find((line) => line !== '') ?? null;
