import { basename } from 'node:path';
import { renameEarlier } from '../../files/rename-earlier.ts';
import type { Tampering } from '../../guard/memory.ts';
import { hasFailed, resultOf } from '../../ralph/gate-result.ts';
import { gateCommands } from '../../ralph/plan.ts';
import type { GateRun } from '../../ralph/record.ts';
import { verifyLog } from '../../store/paths.ts';
import type { RunContext } from '../context.ts';
import { timeLeftNow } from '../deadline.ts';
import type { ProofGate } from './proof-gate.ts';
import { runVerify } from './verify.ts';

/** What the verify commands of a gate need to run. */
export type CommandContext = Pick<
  RunContext,
  | 'tag'
  | 'workProject'
  | 'workspace'
  | 'options'
  | 'env'
  | 'plan'
  | 'folder'
  | 'stopSignals'
  | 'redactor'
  | 'sandbox'
  | 'guard'
  | 'emit'
  | 'elapsedMs'
>;

interface Verifying {
  readonly iteration: number;
  /** Whether to stop as soon as the goal has changed. */
  readonly isGuarded: boolean;
  readonly proofGate: ProofGate | null;
}

/** `tampering` lists what earlier commands have changed in the goal: one may have rewritten the script of the next. */
export const runCommands = async (context: CommandContext, { iteration, isGuarded, proofGate }: Verifying) => {
  const verify = gateCommands(context.plan.gate);
  if (verify.length > 0) context.emit({ type: 'gate-started', commands: verify });
  const runs: GateRun[] = [];
  let tampering: readonly Tampering[] = [];
  const mayRun = () => {
    if (isGuarded) tampering = context.guard.check();
    return tampering.length === 0;
  };
  for (const [index, command] of verify.entries()) {
    if (!mayRun()) break;
    runs.push(
      await runWithRetry(context, command, {
        logFile: (isRetry) => verifyLog(context.folder, iteration, { n: index + 1, isRetry }),
        mayRun,
        proofGate,
      }),
    );
  }
  return { runs, tampering };
};

interface CommandRequest {
  readonly logFile: (isRetry: boolean) => string;
  readonly mayRun: () => boolean;
  readonly proofGate: ProofGate | null;
}

/** Retries a failing command once. */
const runWithRetry = async (
  context: CommandContext,
  command: string,
  { logFile, mayRun, proofGate }: CommandRequest,
): Promise<GateRun> => {
  const started = performance.now();
  const timeLeftMs = () => timeLeftNow(context);
  const verifyContext = {
    ...context,
    root: context.workProject.root,
    worktree: context.workspace.worktree,
    timeLeftMs,
  };
  const attempt = async (isRetry: boolean) => {
    const result = await runVerify(verifyContext, {
      command,
      tag: `${context.tag}/${basename(logFile(isRetry), '.log')}`,
      // A resumed gate runs its commands again.
      logFile: renameEarlier(logFile(isRetry)),
      reports: proofGate?.reports ?? null,
    });
    proofGate?.add(command, result);
    return result;
  };
  const first = await attempt(false);
  const isRetried = hasFailed(first) && timeLeftMs() > 0 && mayRun();
  const result = resultOf(first, isRetried ? await attempt(true) : null);
  return { command, ...result, durationMs: Math.round(performance.now() - started) };
};
