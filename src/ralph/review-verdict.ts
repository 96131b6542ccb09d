import type { AgentError, AgentEvent, TurnEnd, Usage } from './agent-events.ts';
import { observeIteration } from './observe-iteration.ts';
import type { Denials, ReviewReport } from './record.ts';
import { findingsIn } from './review-findings.ts';

export const passVerdict = 'PASS';
export const failVerdict = 'FAIL';

/** What one attempt at a review has led to. */
export interface ReviewAttempt extends Pick<
  ReviewReport,
  'verdict' | 'findings' | 'reason' | 'usage' | 'tools' | 'interrupted'
> {
  /** The error that kept it from a verdict. */
  readonly error: AgentError | null;
}

interface ReviewObserver {
  observe(event: AgentEvent): void;
  /** It has printed a verdict, so it need not be stopped. */
  decided(): boolean;
  usage(): Usage | null;
  judge(ended: TurnEnd): ReviewAttempt;
}

/**
 * Observes a reviewer. A verdict is found by the rules of the promise: it is the last line of the last message, and an
 * agent that talks about it has not given it. Only a reviewer that ended well and was denied nothing passes the work.
 */
export const observeReview = (prompt: string, trailer: readonly string[]): ReviewObserver => {
  const promises = { completionPromise: passVerdict, blockedPromise: failVerdict, tagName: 'verdict' } as const;
  const observer = observeIteration({ ...promises, trailer }, prompt);
  return {
    observe: observer.observe,
    decided: observer.promised,
    usage: observer.usage,
    judge(ended) {
      const { completionFound, blocked, rejected, error, denied, usage, tools } = observer.judge(ended);
      const outcome = { usage, tools, error, ...(ended.end === 'interrupted' && { interrupted: true as const }) };
      const none = (reason: string): ReviewAttempt => ({ ...outcome, verdict: null, findings: [], reason });
      if (error !== null) return none(error.message);
      const found = (verdict: 'pass' | 'fail'): ReviewAttempt => ({
        ...outcome,
        verdict,
        findings: findingsIn(observer.lastWords(), verdict),
        reason: null,
      });
      if (blocked !== null) return found('fail');
      if (!completionFound)
        return none(rejected === null ? 'it gave none' : `the one that it gave does not count: ${rejected}`);
      if (denied !== null) return none(deniedText(denied));
      return found('pass');
    },
  };
};

const deniedText = ({ tools, message }: Denials): string =>
  `it was not allowed to use ${tools.join(', ')}: ${message.replaceAll('--allow-all', '--review-allow-all')}`;
