import { asUserError, exitCodes, signalExitCodes } from '../../errors.ts';
import { exitCodeOf, type StopSource } from '../../process/signals.ts';
import type { StopReason } from '../../ralph/events.ts';
import { version } from '../../text/version.ts';

/** The exit code of a run. `signal` is what interrupted it. */
export const exitCodeFor = (reason: StopReason, signal: StopSource | null): number =>
  reason === 'interrupted' ? exitCodeOf(signal ?? 'SIGTERM') : exitCodes[reason];

/** Returns the exit code of an error and its text for the user: one line, or the stack trace of a bug in Spool. */
export const describeError = (error: unknown): { readonly code: number; readonly text: string } => {
  const known = asUserError(error);
  if (known) return { code: known.exitCode, text: known.message };
  const stack = error instanceof Error ? error.stack : String(error);
  return { code: exitCodes.bug, text: `this is a bug in Spool ${version} on Node ${process.version}\n${stack}` };
};

/** The exit code of a user error about usage or configuration. */
const usage = 2;

/** The exit code of a run that another process has stopped. */
const stopped = signalExitCodes.SIGTERM;

const { bug, failed, blocked, limit, complete } = exitCodes;

/** Worst first. */
const severity = [bug, failed, usage, blocked, limit, stopped, complete];

/** The exit code of runs if other changes could not be started. */
export const withSkipped = (code: number): number => worst([code, usage]);

export const worst = (codes: readonly number[]): number =>
  severity.find((code) => codes.includes(code)) ?? Math.max(0, ...codes);
