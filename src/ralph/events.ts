import type { Mention } from './promise/promise.ts';

/** An event of an agent, in the same form for all harnesses. */
export type AgentEvent =
  /** A whole message of the agent, or with `plain` a piece of unstructured output. */
  | { readonly type: 'text'; readonly text: string; readonly plain: boolean }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'tool'; readonly tool: string; readonly title: string }
  /** `denied`: the call was not permitted. */
  | { readonly type: 'tool-result'; readonly tool: string; readonly failed: boolean; readonly denied?: true }
  /**
   * A tool or permission was denied. Not an error: the agent may continue. It may come from stderr, so its position among
   * the events means nothing.
   */
  | ({ readonly type: 'denied' } & Denial)
  /** Usage of one step, or of the whole iteration. Values that the agent does not report are null. */
  | ({ readonly type: 'usage' } & Usage)
  | ({ readonly type: 'error' } & AgentError)
  /** stderr of the agent CLI: shown and logged, but not searched for the promise. */
  | { readonly type: 'stderr'; readonly text: string };

export interface Denial {
  readonly tool: string;
  /** A rule of the user forbids it, which --allow-all does not override. */
  readonly byRule?: true;
  /** One sentence with everything denied so far and the settings that allow it. */
  readonly message: string;
  /** --allow-all would allow everything denied so far. */
  readonly allowAllHelps?: true;
}

export interface AgentError {
  readonly kind: AgentErrorKind;
  readonly message: string;
  /** When a usage limit resets, in milliseconds since 1970, if the provider reports it. */
  readonly resetsAtMs?: number;
}

export type AgentErrorKind =
  | 'auth'
  | 'model'
  /** A usage limit of the provider. */
  | 'rate-limit'
  | 'overload'
  | 'context'
  | 'permission'
  | 'transport'
  | 'truncated'
  /** Spool stopped it: it took too long, or printed nothing for too long. */
  | 'timeout'
  /** Spool stopped it: the run reached a limit during the iteration. */
  | 'budget'
  | 'crash'
  | 'start'
  | 'unknown';

/** `inputTokens` includes cached input, `outputTokens` includes reasoning. */
export interface Usage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cacheReadTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly reasoningTokens: number | null;
  readonly costUsd: number | null;
}

export const unknownUsage: Usage = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
  costUsd: null,
};

/** How the agent of an iteration ended. */
export interface TurnEnd {
  /** `answered`: the turn ended, but the process of the agent lives on and has no exit code. */
  readonly end: 'exited' | 'answered' | 'killed' | 'interrupted' | 'not-started' | AbortReason['end'];
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Why it could not be started, or why Spool stopped it. */
  readonly problem: string | null;
}

/** Why Spool stops an agent during an iteration. */
export interface AbortReason {
  readonly end: 'timed-out' | 'out-of-budget';
  readonly why: string;
}

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
  readonly durationMs: number;
  readonly harness: string;
  readonly model: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly end: TurnEnd['end'];
  readonly completionFound: boolean;
  /** The text up to the accepted promise. */
  readonly evidence: string | null;
  /** Why a printed promise was not accepted. */
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
  /** Result of the gate, which runs for a promise or, with --verify-each, for every iteration; null if it did not run. */
  readonly gate: GateReport | null;
  /** Task counts at the end; null if there are no tasks. */
  readonly tasks: TaskCount | null;
  /** A tool call that was repeated many times. */
  readonly repeated: RepeatedCall | null;
  /** Earlier attempts at this iteration that were deferred by a usage limit or an agent that did not start. */
  readonly deferred: readonly DeferredAttempt[];
}

export interface Denials {
  /** Each once; at most ten. */
  readonly tools: readonly string[];
  /** One sentence with what was denied and the settings that allow it. */
  readonly message: string;
  /** --allow-all would allow all of it. */
  readonly allowAllHelps?: true;
}

export interface RepeatedCall {
  readonly tool: string;
  readonly title: string;
  readonly times: number;
}

/** An attempt that does not count as an iteration. Its changes and usage do count. */
export type DeferredAttempt = Omit<IterationRecord, 'deferred'>;

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
}

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

/** An agent and its model; null for the agent's default model. */
export interface AgentChoice {
  readonly harness: string;
  readonly model: string | null;
}

/** `claude:opus`, as on the command line. */
export const agentKey = ({ harness, model }: AgentChoice): string => (model === null ? harness : `${harness}:${model}`);

/** Where the agents of a run work. */
export interface Workspace {
  /** The folder in which they are started. */
  readonly root: string;
  /** The branch of the run; null for the branch that is checked out. */
  readonly branch: string | null;
  /** The linked worktree; null for the project folder. */
  readonly worktree: string | null;
}

/** The settings of a run, fixed when it starts. */
export interface RunPlan {
  readonly run: string;
  readonly change: string;
  readonly module: string | null;
  /** In order of preference. */
  readonly agents: readonly AgentChoice[];
  readonly allowAll: boolean;
  /** The agent and the verify commands run in a sandbox. */
  readonly sandbox: boolean;
  readonly completionPromise: string;
  readonly blockedPromise: string;
  readonly minIterations: number;
  readonly maxIterations: number;
  readonly limits: Limits;
  readonly failFast: boolean;
  /** Changes are committed after each iteration. */
  readonly commit: boolean;
  readonly retryDelayMs: number;
  readonly firstIteration: number;
  readonly gate: GatePlan;
}

/** A command that a run executes, and its origin. */
export interface CommandOrigin {
  readonly key: 'harness' | 'verify' | 'worktreeSetup' | 'notify';
  readonly command: string;
  /** `--verify`, `SPOOL_VERIFY`, `config.json verify`, `the last run`. */
  readonly source: string;
  /** Who set it: the caller (a flag, or a setting of the library), a variable, the project, or the last run. */
  readonly setBy?: 'caller' | 'variable' | 'project' | 'last run';
  /** Hash of the project's setting; null if the command comes from the user. */
  readonly hash: string | null;
  /** When the user trusted it, or `SPOOL_TRUST`. */
  readonly trusted: string | null;
}

/** The checks that a promise must pass. */
export interface GatePlan {
  readonly verify: readonly string[];
  readonly verifyEach: boolean;
  readonly requireTasks: boolean;
  readonly allowTampering: boolean;
}

/** All limits except the number of iterations. Infinity means unlimited. */
export interface Limits {
  readonly maxDurationMs: number;
  /** In milliseconds since 1970. */
  readonly untilMs: number;
  readonly maxCostUsd: number;
  readonly maxTokens: number;
  readonly iterationTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** In a row. */
  readonly maxFailures: number;
  /** Iterations in a row without changes. */
  readonly maxStalled: number;
  /** For a usage limit of the provider. */
  readonly maxWaitMs: number;
}

export type StopReason = 'complete' | 'limit' | 'failed' | 'blocked' | 'interrupted';

/** Lets a resumed run detect changed settings. */
export interface SettingsAtStart {
  /** Settings passed by flag or variable in any call of this run. */
  readonly explicit: readonly string[];
  /** Values of the config file for this change, by key, unparsed. */
  readonly file: Readonly<Record<string, unknown>>;
}

/** Everything that can end a run, and the resulting stop reason. */
export const stopCauses = {
  promise: 'complete',
  'blocked-promise': 'blocked',
  'max-stalled': 'blocked',
  denied: 'blocked',
  signal: 'interrupted',
  'not-started': 'failed',
  'fail-fast': 'failed',
  'max-failures': 'failed',
  'max-iterations': 'limit',
  'max-duration': 'limit',
  until: 'limit',
  'max-cost': 'limit',
  'max-tokens': 'limit',
  'max-wait': 'limit',
} as const satisfies Record<string, StopReason>;

export interface TaskCount {
  readonly done: number;
  readonly total: number;
}

/** Work of a run that is not committed. */
export interface Uncommitted {
  readonly why: string;
  /** The first of them. */
  readonly files: readonly string[];
  readonly count: number;
}

export interface Stop {
  readonly cause: keyof typeof stopCauses;
  /** `cause` in words. */
  readonly detail: string;
  /** A new run with --allow-all would not stop for this cause. */
  readonly allowAllHelps?: true;
}

/** Everything that happens in a run; `run-ended` is the last event of a start. The terminal output, state.json and the status are derived from this stream. */
export type RunEvent =
  | {
      readonly type: 'run-started';
      readonly plan: RunPlan;
      readonly workspace: Workspace;
      /** Commands that are run besides the built-in agents. */
      readonly commands?: readonly CommandOrigin[];
      /** Short names of what the agent must not change. */
      readonly guarded?: readonly string[];
      readonly at: string;
    }
  | { readonly type: 'iteration-started'; readonly iteration: number; readonly agent: AgentChoice; readonly at: string }
  | { readonly type: 'agent'; readonly event: AgentEvent }
  | { readonly type: 'notice'; readonly text: string }
  | { readonly type: 'iteration-finished'; readonly record: IterationRecord; readonly at: string }
  /** The agent is not available: the iteration is retried with another agent, or after the cooldown. */
  | {
      readonly type: 'attempt-deferred';
      readonly attempt: DeferredAttempt;
      readonly untilMs: number;
      readonly atMs: number;
      readonly at: string;
    }
  | { readonly type: 'waiting'; readonly untilMs: number; readonly why: string; readonly at: string }
  /** The agent has ended and the gate starts. If it is interrupted, the record is enough to run it again. */
  | { readonly type: 'iteration-pending'; readonly record: IterationRecord; readonly at: string }
  | { readonly type: 'gate-started'; readonly commands: readonly string[] }
  | ({
      readonly type: 'run-ended';
      readonly reason: StopReason;
      readonly tasks: TaskCount | null;
      readonly uncommitted?: readonly Uncommitted[];
      /** Lines for the user about what is left of the workspace; missing in older journals. */
      readonly notes?: readonly string[];
      readonly at: string;
    } & Stop);

export type Emit = (event: RunEvent) => void;
