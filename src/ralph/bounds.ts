import type { AgentError, GateReport, GateRun, GitSummary, DeferredAttempt, IterationRecord } from './events.ts';

/** How many of each there are in a record at most. */
const mostNamed = 200;
const mostTools = 100;
const mostMentions = 10;
const mostRuns = 100;
/** How long a text in a record is at most. */
const longestText = 8000;
const longestName = 1000;

/** The name under which the calls of all other tools are counted. */
const otherTools = '(others)';

/** The record with no more in it than a reader needs: it is one line of the history, whatever an agent has done. */
export const boundRecord = (record: IterationRecord): IterationRecord => ({
  ...boundAttempt(record),
  deferred: record.deferred.map(boundAttempt),
});

const boundAttempt = <Attempt extends DeferredAttempt>(attempt: Attempt): Attempt => ({
  ...attempt,
  evidence: attempt.evidence && lastPart(attempt.evidence),
  rejected: attempt.rejected && firstPart(attempt.rejected),
  mentions: attempt.mentions
    .slice(-mostMentions)
    .map(({ words, why }) => ({ words: lastPart(words), why: firstPart(why) })),
  git: attempt.git && boundGit(attempt.git),
  commitProblem: attempt.commitProblem && lastPart(attempt.commitProblem),
  tools: attempt.tools && boundTools(attempt.tools),
  error: attempt.error && boundError(attempt.error),
  blocked: attempt.blocked && firstPart(attempt.blocked),
  gate: attempt.gate && boundGate(attempt.gate),
});

const boundGit = (git: GitSummary): GitSummary => {
  const filesLeftOut = Math.max(0, git.filesChanged - mostNamed);
  const commitsLeftOut = Math.max(0, git.commits.length - mostNamed);
  return {
    ...git,
    files: git.files.slice(0, mostNamed),
    changes: git.changes.slice(0, mostNamed),
    commits: git.commits.slice(0, mostNamed),
    ...(filesLeftOut === 0 ? {} : { filesLeftOut }),
    ...(commitsLeftOut === 0 ? {} : { commitsLeftOut }),
  };
};

/** Those that were called most, and all others together. */
const boundTools = (tools: Readonly<Record<string, number>>): Readonly<Record<string, number>> => {
  const all = Object.entries(tools).map(([name, calls]) => [firstPart(name, longestName), calls] as const);
  if (all.length <= mostTools) return Object.fromEntries(all);
  const sorted = all.toSorted(([, a], [, b]) => b - a);
  const others = sorted.slice(mostTools - 1).reduce((sum, [, calls]) => sum + calls, 0);
  return Object.fromEntries([...sorted.slice(0, mostTools - 1), [otherTools, others]]);
};

const boundError = (error: AgentError): AgentError => ({ ...error, message: firstPart(error.message) });

const boundGate = (gate: GateReport): GateReport => ({ ...gate, runs: gate.runs.slice(0, mostRuns).map(boundRun) });

const boundRun = (run: GateRun): GateRun => ({ ...run, tail: lastPart(run.tail) });

const firstPart = (text: string, longest = longestText): string =>
  text.length > longest ? `${text.slice(0, longest)}…` : text;

const lastPart = (text: string): string => (text.length > longestText ? `…${text.slice(-longestText)}` : text);
