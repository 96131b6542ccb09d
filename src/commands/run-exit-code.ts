import { systemProblem, UserError, userError } from '../errors.ts';
import { exitCodeOf, type StopSource } from '../process/signals.ts';
import type { StopReason } from '../ralph/events.ts';

/** The exit code of a run. `signal` is what interrupted it. */
export const exitCodeFor = (reason: StopReason, signal: StopSource | null): number => {
  switch (reason) {
    case 'complete':
      return 0;
    case 'failed':
      return 1;
    case 'limit':
      return 3;
    case 'blocked':
      return 4;
    case 'interrupted':
      return exitCodeOf(signal ?? 'SIGTERM');
  }
};

/** Errors of the user and the system become one line. A bug in Spool keeps its stack trace. */
export const describeError = (error: unknown): { readonly code: number; readonly text: string } => {
  if (error instanceof UserError) return { code: error.exitCode, text: error.message };
  const { syscall, stack, path } = error as NodeJS.ErrnoException;
  if (syscall === undefined && stack) return { code: 70, text: stack };
  const problem = systemProblem(error);
  return { code: 1, text: path === undefined ? problem : userError('io', path, problem).message };
};

/** Worst first. */
const severity = [70, 1, 2, 4, 3, 0];

export const worst = (codes: readonly number[]): number =>
  severity.find((code) => codes.includes(code)) ?? Math.max(0, ...codes);
