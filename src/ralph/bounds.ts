import {
  type GateReport,
  type GitSummary,
  type DeferredAttempt,
  type IterationRecord,
  maxListed,
  type GateProof,
  type ReviewReport,
} from './record.ts';

const maxNamed = 200;
const maxTools = 100;
const maxMentions = 10;
const maxRuns = 100;
const maxTextLength = 8000;
const maxNameLength = 1000;
/** What is stored of the words before a promise, the output of a failed commit, a reason to give up, and a call. */
const maxWordsLength = 300;
const maxCommitProblemLength = 2000;
const maxReasonLength = 4000;
const maxTitleLength = 200;
const maxHandoverLength = 8 * 1024;

/** Shortens texts so that no part of a secret is left. */
interface RecordRedactor {
  data<Data>(data: Data): Data;
  beginningOf(text: string, maxLength: number): string;
  endOf(text: string, maxLength: number): string;
}

/** Counts the calls of all tools beyond `maxTools`. */
const otherTools = '(others)';

/**
 * Redacts a record and limits its size, since it is one line of the history. Lists are shortened first: it is faster.
 */
export const boundRecord = (record: IterationRecord, redactor: RecordRedactor): IterationRecord =>
  redactor.data({
    ...boundAttempt(record, redactor),
    deferred: record.deferred.map((attempt) => boundAttempt(attempt, redactor)),
  });

const boundAttempt = <Attempt extends DeferredAttempt>(attempt: Attempt, redactor: RecordRedactor): Attempt => {
  const { evidence, rejected, commitProblem, tools, repeated, error, blocked } = attempt;
  const { beginningOf, endOf } = redactor;
  return {
    ...attempt,
    evidence: evidence && endOf(evidence, maxWordsLength),
    rejected: rejected && beginningOf(rejected, maxTextLength),
    mentions: attempt.mentions
      .slice(-maxMentions)
      .map(({ words, why }) => ({ words: endOf(words, maxWordsLength), why: beginningOf(why, maxTextLength) })),
    git: attempt.git && boundGit(attempt.git),
    commitProblem: commitProblem && endOf(commitProblem, maxCommitProblemLength),
    tools: tools && boundTools(tools, redactor),
    ...(repeated && { repeated: { ...repeated, title: beginningOf(repeated.title, maxTitleLength) } }),
    error: error && { ...error, message: beginningOf(error.message, maxTextLength) },
    // Only a reason before the promise can be longer. Its end is next to the promise.
    blocked: blocked && endOf(blocked, maxReasonLength),
    gate: attempt.gate && boundGate(attempt.gate, redactor),
    ...(attempt.handover && { handover: beginningOf(attempt.handover, maxHandoverLength) }),
    ...(attempt.ticked && {
      ticked: attempt.ticked.slice(0, maxListed).map((title) => beginningOf(title, maxTitleLength)),
    }),
  };
};

const boundGit = (git: GitSummary): GitSummary => {
  const filesLeftOut = Math.max(0, git.filesChanged - maxNamed);
  const commitsLeftOut = Math.max(0, git.commits.length - maxNamed);
  return {
    ...git,
    files: git.files.slice(0, maxNamed),
    changes: git.changes.slice(0, maxNamed),
    commits: git.commits.slice(0, maxNamed),
    ...(filesLeftOut === 0 ? {} : { filesLeftOut }),
    ...(commitsLeftOut === 0 ? {} : { commitsLeftOut }),
  };
};

/** Returns the tools that were called most, and all others as one entry. */
const boundTools = (
  tools: Readonly<Record<string, number>>,
  { beginningOf }: RecordRedactor,
): Readonly<Record<string, number>> => {
  const all = Object.entries(tools).map(([name, calls]) => [beginningOf(name, maxNameLength), calls] as const);
  if (all.length <= maxTools) return Object.fromEntries(all);
  const sorted = all.toSorted(([, a], [, b]) => b - a);
  const others = sorted.slice(maxTools - 1).reduce((sum, [, calls]) => sum + calls, 0);
  return Object.fromEntries([...sorted.slice(0, maxTools - 1), [otherTools, others]]);
};

/** What is stored of one finding. */
const maxFindingLength = 1000;

const boundReview = (review: ReviewReport, redactor: RecordRedactor): ReviewReport => ({
  ...review,
  findings: review.findings.slice(0, maxListed).map((finding) => redactor.beginningOf(finding, maxFindingLength)),
  reason: review.reason && redactor.beginningOf(review.reason, maxCommitProblemLength),
  tools: review.tools && boundTools(review.tools, redactor),
});

const boundGate = (gate: GateReport, redactor: RecordRedactor): GateReport => ({
  ...gate,
  runs: gate.runs.slice(0, maxRuns).map((run) => ({ ...run, tail: redactor.endOf(run.tail, maxTextLength) })),
  ...(gate.review && { review: boundReview(gate.review, redactor) }),
  ...(gate.proof && { proof: boundProof(gate.proof, redactor) }),
});

const boundProof = (proof: GateProof, { beginningOf }: RecordRedactor): GateProof => ({
  ...proof,
  unproven: proof.unproven.slice(0, maxListed).map((each) => ({
    ...each,
    id: beginningOf(each.id, maxTitleLength),
    title: beginningOf(each.title, maxTitleLength),
    reason: each.reason && beginningOf(each.reason, maxWordsLength),
  })),
  ...(proof.unknown && { unknown: proof.unknown.slice(0, maxListed).map((id) => beginningOf(id, maxTitleLength)) }),
});
