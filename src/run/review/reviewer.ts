import { asUserError } from '../../errors.ts';
import { renameEarlier } from '../../files/rename-earlier.ts';
import { writeSafely } from '../../files/safe.ts';
import type { Usage } from '../../ralph/agent-events.ts';
import { budgetAbort, deadlinesOf } from '../../ralph/limits.ts';
import type { ReviewPlan } from '../../ralph/plan.ts';
import type { GateRun } from '../../ralph/record.ts';
import { buildReviewPrompt } from '../../ralph/review-prompt.ts';
import { observeReview, type ReviewAttempt } from '../../ralph/review-verdict.ts';
import { addUsage } from '../../ralph/usage.ts';
import { reviewLog, reviewPrompt } from '../../store/paths.ts';
import { ensureRunState, type RunContext } from '../context.ts';
import type { ReviewCopy, Reviewed } from './copy.ts';
import { collectMaterial } from './material.ts';

export type TurnContext = Parameters<typeof collectMaterial>[0] &
  Pick<
    RunContext,
    | 'project'
    | 'options'
    | 'env'
    | 'lock'
    | 'emit'
    | 'folder'
    | 'tag'
    | 'trusted'
    | 'sessions'
    | 'findHarness'
    | 'reporter'
    | 'stopSignals'
    | 'elapsedMs'
  >;

interface Turn extends Reviewed {
  readonly iteration: number;
  readonly runs: readonly GateRun[];
  readonly hasProof: boolean;
  readonly plan: ReviewPlan;
  readonly copy: ReviewCopy;
  /** The number of the attempt. */
  readonly number: number;
  readonly usageBefore: Usage | null;
}

/** Prompts a reviewer once, in a new session. */
export const runReviewer = async (context: TurnContext, turn: Turn): Promise<ReviewAttempt> => {
  const { plan, options, folder, emit, findHarness, sessions, trusted, stopSignals, reporter } = context;
  const { iteration, copy, number } = turn;
  const { harness: name, model, allowAll } = turn.plan;
  const refused = whyUntrusted(() => trusted.checkIn(copy.root, { options, plan, previous: null }, 'harness'));
  if (refused !== null) return { verdict: null, findings: [], reason: refused, usage: null, tools: null, error: null };
  const prompt = buildReviewPrompt(await collectMaterial(context, turn));
  const promptFile = renameEarlier(reviewPrompt(folder, iteration));
  writeSafely(promptFile, prompt, 'create');
  const harness = findHarness(name);
  const observer = observeReview(prompt, harness.output.trailer ?? []);
  const session = sessions.separate(harness, copy);
  try {
    const ended = await session.prompt(
      {
        job: {
          model: harness.launch.choosesOwnModel ? null : model,
          allowAll,
          isReview: true,
          prompt,
          promptFile,
          title: `review ${plan.change} ${plan.run} #${iteration}`,
        },
        tag: `${context.tag}/${iteration}-review-${number}`,
        logFile: renameEarlier(reviewLog(folder, iteration)),
        deadlines: deadlinesOf(plan.limits, context.elapsedMs()),
      },
      {
        onEvent: (event) => {
          observer.observe(event);
          emit({ type: 'reviewer', event });
          return event.type === 'usage' && !observer.decided()
            ? budgetAbort(plan.limits, addUsage(turn.usageBefore, observer.usage()))
            : null;
        },
        drained: () => reporter.drained(stopSignals.stop),
      },
    );
    return observer.judge(ended);
  } finally {
    await session.close();
    ensureRunState(context);
  }
};

/** The copy has the scripts as the agent has left them, and the user has trusted others. */
const whyUntrusted = (check: () => void): string | null => {
  try {
    check();
    return null;
  } catch (error) {
    const known = asUserError(error);
    if (known === null) throw error;
    return known.message;
  }
};
