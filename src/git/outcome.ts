import type { GitResult } from './call/git.ts';

/** A refusal by git is returned as the reason. */
export type GitOutcome = { readonly ok: true } | { readonly ok: false; readonly why: string };

export const outcome = (result: Failed): GitOutcome =>
  result.code === 0 ? { ok: true } : { ok: false, why: reasonFor(result) };

export const reasonFor = ({ code, stderr }: Failed): string => reasonIn(stderr) || `git exited with code ${code}`;

export const hookProblemIn = ({ code, stderr }: Failed): string => reasonIn(stderr) || `exit code ${code}`;

/** git reports the problem first; the lines after it are advice. */
const reasonIn = (text: string): string => {
  const lines = text.trim().split('\n');
  const message = (lines.find((line) => problem.test(line)) ?? lines.at(-1) ?? '').replace(problem, '');
  return message.endsWith(':') ? `${message} ${filesIn(text).join(', ')}` : message;
};

const problem = /^(?:fatal|error): /;

/** git lists each file on a separate line, in every language. */
export const filesIn = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('\t'))
    .map((line) => line.trim());

export type Failed = Pick<GitResult, 'code' | 'stderr'>;
