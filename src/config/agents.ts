import type { AgentChoice, ReviewPlan } from '../ralph/plan.ts';
import type { Options } from './flags.ts';

/** Parses `opencode:anthropic/claude-sonnet, claude`. An agent without a model gets that of --model. */
export const agentsOf = ({ harness, model }: Pick<Options, 'harness' | 'model'>): AgentChoice[] =>
  harness.split(',').map((part) => {
    const [name = '', ...own] = part.trim().split(':');
    return { harness: name, model: own.join(':') || model };
  });

/** Turns off a review that the config file turns on. */
const noReview = 'none';

type ReviewOptions = Pick<Options, 'review' | 'maxReviews' | 'reviewPrompt' | 'reviewAllowAll'>;

/** Returns who reviews the work, and how; null if there is no review. `codex:some-model` names an agent and its model. */
export const reviewOf = (options: ReviewOptions): ReviewPlan | null => {
  const { review, maxReviews, reviewPrompt, reviewAllowAll } = options;
  if (review === null || review === noReview) return null;
  const [harness = '', ...model] = review.split(':');
  return {
    harness,
    model: model.join(':') || null,
    max: maxReviews,
    prompt: reviewPrompt,
    allowAll: reviewAllowAll,
  };
};
