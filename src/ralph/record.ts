import type { Mention } from './promise/tags.ts';
import type { ProofCount, ScenarioProof } from './proof.ts';
import type { AgentError, Usage, TurnEnd } from './agent-events.ts';

export interface GitSummary {
  /** The total, including files that are missing from the lists. */
  readonly filesChanged: number;
  readonly files: readonly string[];
  readonly insertions: number;
  readonly deletions: number;
  readonly changes: readonly FileChange[];
  /** Commits of the agent itself, oldest first. */
  readonly commits: readonly string[];
  /** Number of files missing from `files` and `changes`; unset if they are complete. */
  readonly filesLeftOut?: number;
  /** Number of commits missing from `commits`; unset if it is complete. */
  readonly commitsLeftOut?: number;
}

export interface FileChange {
  readonly status: 'added' | 'modified' | 'deleted' | 'renamed';
  readonly path: string;
  /** Previous path of a renamed file. */
  readonly from?: string;
}

/** One line of history.jsonl, a documented format. Unknown values are null. */
export interface IterationRecord {
  readonly v: 2;
  readonly run: string;
  readonly iteration: number;
  readonly startedAt: string;
  /** Until the agent ended. */
  readonly durationMs: number;
  /** What all of the iteration took; missing in older records. */
  readonly phases?: Phases;
  readonly harness: string;
  readonly model: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly end: TurnEnd['end'];
  readonly completionFound: boolean;
  /** The text up to the accepted promise. */
  readonly evidence: string | null;
  /** Why a printed promise was rejected. */
  readonly rejected: string | null;
  /** The last tags that only mention the promise. */
  readonly mentions: readonly Mention[];
  readonly git: GitSummary | null;
  readonly commit: string | null;
  /** Why the changes could not be committed; null if they were, or if commits are disabled. */
  readonly commitProblem: string | null;
  /** The commit with the work tree after the iteration. */
  readonly checkpoint: string | null;
  readonly usage: Usage | null;
  /** Number of calls by tool; null if the harness does not report them. */
  readonly tools: Readonly<Record<string, number>> | null;
  readonly error: AgentError | null;
  /** What the agent was not permitted to use, even if it continued without; null if nothing was denied. */
  readonly denied: Denials | null;
  /** Why the agent gave up, in its own words. */
  readonly blocked: string | null;
  /**
   * Result of the gate, which runs for a promise or, with --verify-each, for every iteration; null if it did not run.
   */
  readonly gate: GateReport | null;
  /** Task counts at the end; null if there are no tasks. */
  readonly tasks: TaskCount | null;
  /** The titles of the tasks that were completed; at most `maxListed`. Missing in older records. */
  readonly ticked?: readonly string[];
  /** A tool call that was repeated many times. */
  readonly repeated: RepeatedCall | null;
  /** Identifies the added context that its prompt had: null if there was none, missing in older records. */
  readonly context?: string | null;
  /** The rung of the ladder that was its turn, from 1; missing without --escalate. */
  readonly rung?: number;
  /** Set if its rung is another one than that of the iteration before. */
  readonly switched?: AgentSwitch;
  /** The notes that it left for the next iterations; null if there are none, missing with --no-handover. */
  readonly handover?: string | null;
  /** Earlier attempts at this iteration that were deferred by a usage limit or an agent that did not start. */
  readonly deferred: readonly DeferredAttempt[];
  /** The usage of the oldest attempts, which are no longer in `deferred`; missing if all are there. */
  readonly usageLeftOut?: Usage | null;
}

/** Milliseconds from the start of an iteration to its record. */
export interface Phases {
  readonly agentMs: number;
  /** The checks of the gate, including its commands. */
  readonly gateMs: number;
  /** Everything else: the prompt, snapshots, the commit and the checkpoint. */
  readonly spoolMs: number;
}

export interface Denials {
  /** Each once; at most ten. */
  readonly tools: readonly string[];
  /** One sentence with what was denied and the settings that allow it. */
  readonly message: string;
  /** --allow-all would allow all of it. */
  readonly allowAllHelps?: true;
  /** Those with a reason or a rule that would allow them, each once; at most ten. */
  readonly calls?: readonly DenialReason[];
}

export interface DenialReason {
  readonly tool: string;
  /** Why Spool denied it; missing if the agent did by itself. */
  readonly reason?: string;
  /** The permission rule that would allow it. */
  readonly suggestedRule?: string;
}

/** A step on the ladder of agents. */
export interface AgentSwitch {
  /** The first iteration after it. */
  readonly iteration: number;
  /** As on the command line: `claude:opus`. */
  readonly from: string;
  readonly to: string;
  /** From 1. */
  readonly rung: number;
  readonly why: string;
}

export interface RepeatedCall {
  readonly tool: string;
  readonly title: string;
  readonly times: number;
}

/** An attempt that does not count as an iteration. Its changes and usage do count. */
export type DeferredAttempt = Omit<IterationRecord, 'deferred' | 'usageLeftOut'>;

/** The result of the checks on a promise. */
export interface GateReport {
  readonly passed: boolean;
  /** Sentences about guarded files and settings that were changed; at most `maxListed`. */
  readonly tampering: readonly string[];
  /** The total number. */
  readonly tamperingCount?: number;
  /** Commands that restore the first of them, to be run in the agent's folder. */
  readonly restore?: readonly string[];
  /** The command with which the user accepts them; null if there are none. */
  readonly accept?: string | null;
  /** With --require-tasks; at most `maxListed`. */
  readonly openTasks: readonly string[];
  /** The total number. */
  readonly openTaskCount?: number;
  /** Sentences about files of the change that both the user and the agent changed; missing in older records. */
  readonly conflicts?: readonly string[];
  readonly runs: readonly GateRun[];
  /** Which scenarios are proven; missing if the gate did not get that far, or if nothing names one. */
  readonly proof?: GateProof;
  /** Missing if there was none: nothing reviews the work, or an earlier check failed. */
  readonly review?: ReviewReport;
}

/** What another agent says about the work. Only the verdict `pass` lets the promise count. */
export interface ReviewReport {
  readonly harness: string;
  readonly model: string | null;
  /** null if it ended without a verdict that counts. */
  readonly verdict: 'pass' | 'fail' | null;
  /** At most `maxListed`. */
  readonly findings: readonly string[];
  /** Why there is no verdict; null if there is one. */
  readonly reason: string | null;
  /** It was stopped on request: it is repeated when the run is resumed. */
  readonly interrupted?: true;
  /** A review without a verdict is retried once. */
  readonly attempts: number;
  readonly durationMs: number;
  /** That of all attempts. */
  readonly usage: Usage | null;
  /** The number of calls by tool in the last attempt; null if the harness does not report them. */
  readonly tools: Readonly<Record<string, number>> | null;
  /** The commit with the work that was reviewed. */
  readonly checkpoint: string | null;
}

/** What a gate says about the scenarios of the change. */
export interface GateProof {
  readonly count: ProofCount;
  /** With --require-scenarios. */
  readonly required?: true;
  /** Those that are not proven; at most `maxListed`. */
  readonly unproven: readonly Unproven[];
  /** Ids that tests name although no scenario has them; at most `maxListed`. */
  readonly unknown?: readonly string[];
}

export type Unproven = Pick<ScenarioProof, 'id' | 'title' | 'state' | 'reason'>;

/** Maximum length of the lists in a record. */
export const maxListed = 20;

export interface GateRun {
  readonly command: string;
  /** A failing command is retried once; `flaky` means that it passed then. */
  readonly outcome: 'passed' | 'flaky' | 'failed' | 'timed-out' | 'interrupted';
  readonly exitCode: number | null;
  readonly durationMs: number;
  /** The end of its output if it failed. */
  readonly tail: string;
}

export const failed = (record: IterationRecord): boolean => record.error !== null;

export interface TaskCount {
  readonly done: number;
  readonly total: number;
}
