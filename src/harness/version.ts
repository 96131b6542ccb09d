import { realpath, stat } from 'node:fs/promises';
import spawn from 'cross-spawn';
import { onlyThese } from '../process/descriptors.ts';
import { environmentIn, signalGroup } from '../process/tree.ts';
import type { Sandbox } from '../process/sandbox.ts';
import type { Harness } from './harness.ts';

const patienceMs = 15_000;
const longestAnswer = 64 * 1024;

export interface Question {
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The folder it is asked in; that of Spool when there is none. */
  readonly cwd?: string;
  /** Aborted when nobody wants to know any more. */
  readonly stop?: AbortSignal | undefined;
  /** Where it is asked, and as which agent: one in a project may have been changed by an agent. */
  readonly sandbox?: Sandbox | null | undefined;
  readonly harness?: Harness;
}

export interface Answer {
  readonly code: number;
  /** What it printed on stdout, then on stderr. */
  readonly text: string;
}

/** What a binary answers; null when it does not answer in time, or cannot be run. Nothing that it started is left. */
export const ask = async ({ sandbox, harness, ...question }: Question): Promise<Answer | null> => {
  if (!sandbox) return answerOf(question);
  const command = { ...question, cwd: question.cwd ?? process.cwd(), tag: 'version' };
  const inside = await sandbox.enter(command, harness ?? null).catch(() => null);
  if (inside === null) return null;
  try {
    return await answerOf({ ...question, ...inside }, inside.started);
  } finally {
    await inside.leave();
  }
};

const answerOf = (
  { binary, args, env, stop, cwd = process.cwd() }: Omit<Question, 'sandbox' | 'harness'>,
  started: (pid: number) => void = () => {},
): Promise<Answer | null> =>
  new Promise((resolve) => {
    const child = spawn(binary, args, {
      cwd,
      env: environmentIn(cwd, env),
      stdio: onlyThese(['ignore', 'pipe', 'pipe']),
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    if (child.pid) started(child.pid);
    const said = { stdout: '', stderr: '' };
    for (const source of ['stdout', 'stderr'] as const)
      child[source]?.setEncoding('utf8').on('data', (text: string) => {
        said[source] = (said[source] + text).slice(0, longestAnswer);
      });
    const giveUp = () => {
      if (child.pid) signalGroup(child.pid, 'SIGKILL');
      child.stdout?.destroy();
      child.stderr?.destroy();
    };
    const timer = setTimeout(giveUp, patienceMs);
    stop?.addEventListener('abort', giveUp);
    const settle = (answer: Answer | null) => {
      clearTimeout(timer);
      stop?.removeEventListener('abort', giveUp);
      if (child.pid) signalGroup(child.pid, 'SIGKILL');
      resolve(answer);
    };
    child.on('error', () => settle(null));
    child.on('close', (code) => settle(code === null ? null : { code, text: said.stdout + said.stderr }));
    if (stop?.aborted) giveUp();
  });

/** The first line with a number in it of what it answers to `--version`; null when that is no answer. */
export const versionOf = async (question: Omit<Question, 'args'>): Promise<string | null> => {
  const answer = await ask({ ...question, args: ['--version'] });
  if (answer?.code !== 0) return null;
  return (
    answer.text
      .split('\n')
      .find((line) => /\d/.test(line))
      ?.trim() ?? null
  );
};

/**
 * By the file of a binary, as agents take up to a second to answer. Per process: the same file has the same version for
 * every run.
 */
const answered = new Map<string, Promise<string | null>>();

/**
 * The same, asked once for a file. It is remembered by this process only: it decides which flag lifts the permissions of
 * an agent, so it is never read from a file that somebody else could have written.
 */
export const knownVersion = async (question: Omit<Question, 'args'>): Promise<string | null> => {
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

/** Of the file behind it; another one after an update. */
const identityOf = async (binary: string): Promise<string> => {
  try {
    const path = await realpath(binary);
    return `${path} ${(await stat(path)).mtimeMs}`;
  } catch {
    return binary;
  }
};
