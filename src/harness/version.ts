import { realpath, stat } from 'node:fs/promises';
import { stampOf } from '../files/stamp.ts';
import { runProgram } from '../process/run-program.ts';
import type { Sandbox } from '../process/sandbox-types.ts';
import { currentScope, perScope } from '../process/scope.ts';
import type { Harness } from './harness.ts';

const patienceMs = 15_000;
const maxOutput = 64 * 1024;

export interface Question {
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Defaults to the working directory of Spool. */
  readonly cwd?: string;
  /** Abort to cancel the query. */
  readonly stop?: AbortSignal | undefined;
  /** Runs the query in this sandbox, as this agent: an agent may have modified a binary in the project. */
  readonly sandbox?: Sandbox | null | undefined;
  readonly harness?: Harness;
}

export interface Answer {
  readonly code: number;
  /** stdout followed by stderr. */
  readonly text: string;
}

/** Runs a binary and returns its output, or null if it times out or cannot be run. Ends every process it started. */
export const queryBinary = async ({ sandbox, harness, ...question }: Question): Promise<Answer | null> => {
  if (!sandbox) return answerOf(question);
  const command = { ...question, cwd: question.cwd ?? currentScope().cwd, tag: 'version' };
  const inside = await sandbox.enter(command, harness ?? null).catch(() => null);
  if (inside === null) return null;
  try {
    return await answerOf({ ...question, ...inside }, inside.started);
  } finally {
    await inside.leave();
  }
};

const answerOf = async (
  question: Omit<Question, 'sandbox' | 'harness'>,
  started?: (pid: number) => void,
): Promise<Answer | null> => {
  const { code, stdout, stderr } = await runProgram({ ...question, started, patienceMs, maxOutput });
  return code === null ? null : { code, text: stdout + stderr };
};

/** The first line of `--version` that contains a digit, or null if there is none. */
export const versionOf = async (question: Omit<Question, 'args'>): Promise<string | null> => {
  const answer = await queryBinary({ ...question, args: ['--version'] });
  if (answer?.code !== 0) return null;
  return (
    answer.text
      .split('\n')
      .find((line) => /\d/.test(line))
      ?.trim() ?? null
  );
};

/** Cached by file for the run: agents take up to a second to print their version. */
const answersOfRun = perScope(() => new Map<string, Promise<string | null>>());

/**
 * Like `versionOf`, but queried once per file and run. The cache is in memory only: the version decides which flag lifts
 * the permissions of an agent, so it is never read from a file that others can write.
 */
export const knownVersion = async (question: Omit<Question, 'args'>): Promise<string | null> => {
  const answered = answersOfRun();
  const key = await identityOf(question.binary);
  const asked = answered.get(key) ?? versionOf(question);
  answered.set(key, asked);
  const version = await asked;
  if (version !== null) return version;
  // A run that was stopped has not waited for the answer.
  if (question.stop?.aborted && answered.get(key) === asked) answered.delete(key);
  const isAsked = answered.get(key) === asked || question.stop?.aborted;
  return isAsked ? null : knownVersion(question);
};

/** Identifies the file behind a binary, and changes with an update. */
const identityOf = async (binary: string): Promise<string> => {
  try {
    const path = await realpath(binary);
    return `${path} ${stampOf(await stat(path))}`;
  } catch {
    return binary;
  }
};
