import { listCheckpoints } from '../../git/checkpoint.ts';
import type { Usage } from '../../ralph/agent-events.ts';
import { limitReached } from '../../ralph/limits.ts';
import type { ReviewPlan } from '../../ralph/plan.ts';
import type { GateRun, IterationRecord, ReviewReport } from '../../ralph/record.ts';
import type { ReviewAttempt } from '../../ralph/review-verdict.ts';
import { addUsage, spentUsage } from '../../ralph/usage.ts';
import { recordedCheckpoint } from '../../store/user-state/checkpoints.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import type { RunContext } from '../context.ts';
import { firstCheckpoint } from '../gate/first-checkpoint.ts';
import { makeReviewCopy, removeReviewCopy, type Reviewed } from './copy.ts';
import { runReviewer, type TurnContext } from './reviewer.ts';
import { waitForReviewer } from './usage-limit.ts';

export type ReviewContext = TurnContext & Pick<RunContext, 'tree' | 'control' | 'batch'>;

/** What is reviewed. */
export interface ReviewRequest {
  readonly iteration: number;
  /** The verify commands, all of which have passed. */
  readonly runs: readonly GateRun[];
  /** Whether the ledger has what this gate says about the scenarios. */
  readonly hasProof: boolean;
}

/** Lets another agent review the work of an iteration. Nothing that it changes in its folder is kept. */
export const review = async (context: ReviewContext, request: ReviewRequest): Promise<ReviewReport> => {
  const started = performance.now();
  const plan = context.plan.gate.review!;
  const reviewed = await findReviewed(context, request.iteration);
  const all: Attempts = { number: 0, usage: null };
  const last =
    typeof reviewed === 'string'
      ? without(reviewed)
      : await attemptWithRetry(context, { ...request, ...reviewed, plan, all });
  const { verdict, findings, reason, tools, interrupted } = last;
  const { redactor, emit } = context;
  const report = redactor.data({
    harness: plan.harness,
    model: plan.model,
    verdict,
    findings: findings.slice(0, maxFindings).map((finding) => redactor.oneLine(finding, maxFinding)),
    reason,
    ...(interrupted && { interrupted }),
    attempts: all.number,
    durationMs: Math.round(performance.now() - started),
    usage: all.usage,
    tools,
    checkpoint: typeof reviewed === 'string' ? null : reviewed.commit,
  } satisfies ReviewReport);
  const at = new Date().toISOString();
  emit({ type: 'review-finished', iteration: request.iteration, review: report, at });
  return report;
};

const maxFindings = 20;
const maxFinding = 1000;

/** All attempts so far. */
interface Attempts {
  number: number;
  usage: Usage | null;
}

interface AttemptRequest extends ReviewRequest, Reviewed {
  readonly plan: ReviewPlan;
  readonly all: Attempts;
}

/** A review without a verdict is tried once more. Waiting for a usage limit is no attempt. */
const attemptWithRetry = async (context: ReviewContext, request: AttemptRequest): Promise<ReviewAttempt> => {
  const waiting = waitForReviewer(context, request.plan);
  for (let tries = 1; ;) {
    const result = await attemptOnce(context, request);
    if (result.verdict !== null || result.interrupted) return result;
    if (result.error?.kind === 'rate-limit') {
      if (await waiting.until(result.error)) continue;
      return context.control.received() === null ? result : { ...result, interrupted: true };
    }
    tries++;
    if (tries > maxTries || result.error?.kind === 'budget') return result;
  }
};

const maxTries = 2;

const attemptOnce = async (context: ReviewContext, request: AttemptRequest): Promise<ReviewAttempt> => {
  const { control, emit } = context;
  const { iteration, plan, all } = request;
  if (control.received() !== null) return { ...without('it was interrupted'), interrupted: true };
  const reached = limitReached(context.plan.limits, {
    elapsedMs: context.elapsedMs(),
    nowMs: Date.now(),
    usage: usageBefore(context),
  });
  if (reached) return { ...without(reached.detail), error: { kind: 'budget', message: reached.detail } };
  all.number++;
  const at = new Date().toISOString();
  const agent = { harness: plan.harness, model: plan.model };
  emit({ type: 'review-started', iteration, agent, attempt: all.number, at });
  try {
    const copy = await makeReviewCopy(context, request);
    if (typeof copy === 'string') return without(`its folder could not be prepared: ${copy}`);
    const result = await runReviewer(context, {
      ...request,
      copy,
      number: all.number,
      usageBefore: usageBefore(context),
    });
    all.usage = addUsage(all.usage, result.usage);
    return result;
  } finally {
    if (!removeReviewCopy(context)) emit({ type: 'notice', text: 'The folder of the review could not be deleted.' });
  }
};

/** Usage of the run, with earlier attempts at the review, and of the others that share its budget. */
const usageBefore = ({ view, batch }: ReviewContext): Usage | null =>
  addUsage(spentUsage(view()), batch?.usageOfOthers() ?? null);

const without = (reason: string): ReviewAttempt => ({
  verdict: null,
  findings: [],
  reason,
  usage: null,
  tools: null,
  error: null,
});

/** Returns the reason if the work of the iteration is not known. The agent can move refs, but cannot write the user state. */
const findReviewed = async (
  { tree, project, plan, env, view }: ReviewContext,
  iteration: number,
): Promise<Reviewed | string> => {
  if (tree === null) return 'there is no git repository';
  const record: Pick<IterationRecord, 'checkpoint'> | null = view().pending;
  const folder = userStateFolder(project, plan.change, env);
  const refs = await listCheckpoints(tree, plan.change, plan.run);
  const find = (name: string) =>
    recordedCheckpoint(folder, plan.run, name) ?? refs.find((each) => each.name === name)?.commit ?? null;
  // An earlier run of the change may have done most of the work.
  const base = (await firstCheckpoint(tree, folder)) ?? find('0');
  const commit = find(String(iteration)) ?? record?.checkpoint ?? null;
  return base === null || commit === null ? 'git could not save a checkpoint of the work' : { base, commit };
};
