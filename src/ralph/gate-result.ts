import { gateCommands, type GatePlan } from './plan.ts';
import type { GateReport, GateRun, GateProof, ReviewReport } from './record.ts';
import type { Verdict } from './observe-iteration.ts';
import { isProven } from './proof-rows.ts';
import { grouped } from './usage.ts';

/** Rejects the promise if the gate failed. */
export const applyGate = (verdict: Verdict, gate: GateReport | null): Verdict =>
  gate === null || gate.passed || !verdict.completionFound
    ? verdict
    : { ...verdict, completionFound: false, evidence: null, rejected: rejectionOf(gate) };

/** Whether verify commands run after such an iteration, provided that the cheap checks pass. */
export const runsCommands = (
  gate: GatePlan,
  { completionFound, error }: Pick<Verdict, 'completionFound' | 'error'>,
): boolean =>
  (gateCommands(gate).length > 0 && (completionFound || (gate.verifyEach && error?.kind !== 'rate-limit'))) ||
  (Boolean(gate.review) && completionFound);

interface Checks extends Pick<GateReport, 'conflicts' | 'runs' | 'proof' | 'review'> {
  readonly tampering: readonly unknown[];
  readonly openTasks: readonly unknown[];
}

/** Whether all checks that were made pass. */
export const passes = ({ tampering, openTasks, conflicts = [], runs, proof, review }: Checks): boolean =>
  tampering.length === 0 &&
  openTasks.length === 0 &&
  conflicts.length === 0 &&
  runs.every(hasPassed) &&
  (!proof?.required || isProven(proof.count)) &&
  (review === undefined || review.verdict === 'pass');

/** Whether a command or the review was stopped on request. */
export const wasInterrupted = ({ runs, review }: GateReport): boolean =>
  runs.some(({ outcome }) => outcome === 'interrupted') || Boolean(review?.interrupted);

export const hasPassed = ({ outcome }: Pick<GateRun, 'outcome'>): boolean =>
  outcome === 'passed' || outcome === 'flaky';

/** Whether a command failed by itself: it was not stopped on request. */
export const hasFailed = ({ outcome }: Pick<GateRun, 'outcome'>): boolean =>
  outcome === 'failed' || outcome === 'timed-out';

type CommandAttempt = Pick<GateRun, 'outcome' | 'exitCode' | 'tail'>;

/**
 * Returns the result of a command that was retried if it failed (`retry` is null if it was not). The last attempt
 * counts. The output is that of the failure.
 */
export const resultOf = (first: CommandAttempt, retry: CommandAttempt | null): CommandAttempt => {
  const { outcome, exitCode, tail } = retry ?? first;
  if (!hasPassed({ outcome })) return { outcome, exitCode, tail };
  return retry ? { outcome: 'flaky', exitCode, tail: first.tail } : { outcome: 'passed', exitCode, tail: '' };
};

const maxNamed = 3;

/** Returns in one line why the promise is rejected. */
export const rejectionOf = (gate: GateReport): string => {
  const { tampering, openTasks, conflicts = [], runs } = gate;
  const { tamperingCount = tampering.length, openTaskCount = openTasks.length } = gate;
  return [
    ...tampering.slice(0, maxNamed),
    ...(tamperingCount > maxNamed ? [`and ${grouped(tamperingCount - maxNamed)} more`] : []),
    ...conflicts.slice(0, maxNamed),
    ...(openTaskCount === 0
      ? []
      : [
          `${grouped(openTaskCount)} open ${openTaskCount === 1 ? 'task' : 'tasks'}: ${some(openTasks, openTaskCount)}`,
        ]),
    ...runs.filter((run) => !hasPassed(run)).map(describeRun),
    ...(gate.proof?.required && !isProven(gate.proof.count) ? [describeUnproven(gate.proof)] : []),
    ...(gate.review && gate.review.verdict !== 'pass' ? [describeReview(gate.review)] : []),
  ].join('; ');
};

/** `2 of 3 scenarios are not proven: auth/login/works (the test "x" was skipped) and 1 more` */
const describeUnproven = ({ count, unproven, unknown = [] }: GateProof): string => {
  if (count.total === 0) return 'the change has no scenarios';
  const open = count.total - count.proven;
  const named = unproven.slice(0, maxNamed).map(({ id, reason }) => `${id} (${reason})`);
  const more = open > named.length ? ` and ${grouped(open - named.length)} more` : '';
  const wrong = unknown.length === 0 ? '' : `; no scenario has the id ${unknown.slice(0, maxNamed).join(', ')}`;
  return `${grouped(open)} of ${grouped(count.total)} scenarios ${open === 1 ? 'is' : 'are'} not proven: ${named.join(', ')}${more}${wrong}`;
};

const describeRun = ({ command, outcome, exitCode }: GateRun): string => {
  switch (outcome) {
    case 'passed':
      return `"${command}" passed`;
    case 'flaky':
      return `"${command}" failed, and passed when retried`;
    case 'failed':
      return `"${command}" failed (${exitCode === null ? '' : `exit code ${exitCode}, `}retried once)`;
    case 'timed-out':
      return `"${command}" timed out (retried once)`;
    case 'interrupted':
      return `"${command}" was interrupted`;
  }
};

/** `the review by codex failed: no test for the empty list (and 2 more findings)` */
const describeReview = ({ harness, model, verdict, findings, reason }: ReviewReport): string => {
  const by = `the review by ${model === null ? harness : `${harness}:${model}`}`;
  if (verdict === null) return `${by} has no verdict: ${reason}`;
  const [first, ...more] = findings;
  if (first === undefined) return `${by} failed without findings`;
  const others = more.length === 0 ? '' : ` (and ${more.length} more ${more.length === 1 ? 'finding' : 'findings'})`;
  return `${by} failed: ${first}${others}`;
};

const some = (titles: readonly string[], total: number) =>
  `${titles
    .slice(0, maxNamed)
    .map((title) => `"${title}"`)
    .join(', ')}${total > maxNamed ? ` and ${grouped(total - maxNamed)} more` : ''}`;
