import type { AgentError } from './agent-events.ts';
import type { GateReport, GateRun, GitSummary, DeferredAttempt, IterationRecord } from './record.ts';

const maxNamed = 200;
const maxTools = 100;
const maxMentions = 10;
const maxRuns = 100;
const maxTextLength = 8000;
const maxNameLength = 1000;

/** Counts the calls of all tools beyond `maxTools`. */
const otherTools = '(others)';

/** Limits the size of a record, which is one line of the history. */
export const boundRecord = (record: IterationRecord): IterationRecord => ({
  ...boundAttempt(record),
  deferred: record.deferred.map(boundAttempt),
});

const boundAttempt = <Attempt extends DeferredAttempt>(attempt: Attempt): Attempt => ({
  ...attempt,
  evidence: attempt.evidence && lastPart(attempt.evidence),
  rejected: attempt.rejected && firstPart(attempt.rejected),
  mentions: attempt.mentions
    .slice(-maxMentions)
    .map(({ words, why }) => ({ words: lastPart(words), why: firstPart(why) })),
  git: attempt.git && boundGit(attempt.git),
  commitProblem: attempt.commitProblem && lastPart(attempt.commitProblem),
  tools: attempt.tools && boundTools(attempt.tools),
  error: attempt.error && boundError(attempt.error),
  blocked: attempt.blocked && firstPart(attempt.blocked),
  gate: attempt.gate && boundGate(attempt.gate),
});

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
const boundTools = (tools: Readonly<Record<string, number>>): Readonly<Record<string, number>> => {
  const all = Object.entries(tools).map(([name, calls]) => [firstPart(name, maxNameLength), calls] as const);
  if (all.length <= maxTools) return Object.fromEntries(all);
  const sorted = all.toSorted(([, a], [, b]) => b - a);
  const others = sorted.slice(maxTools - 1).reduce((sum, [, calls]) => sum + calls, 0);
  return Object.fromEntries([...sorted.slice(0, maxTools - 1), [otherTools, others]]);
};

const boundError = (error: AgentError): AgentError => ({ ...error, message: firstPart(error.message) });

const boundGate = (gate: GateReport): GateReport => ({ ...gate, runs: gate.runs.slice(0, maxRuns).map(boundRun) });

const boundRun = (run: GateRun): GateRun => ({ ...run, tail: lastPart(run.tail) });

const firstPart = (text: string, longest = maxTextLength): string =>
  text.length > longest ? `${text.slice(0, longest)}…` : text;

const lastPart = (text: string): string => (text.length > maxTextLength ? `…${text.slice(-maxTextLength)}` : text);
