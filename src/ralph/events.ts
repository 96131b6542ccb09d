import type { Mention } from './promise.ts';

/** What an agent did, in one language for every harness. */
export type AgentEvent =
  /** The agent's own words. `plain` text is output without structure; otherwise it is one whole message. */
  | { readonly type: 'text'; readonly text: string; readonly plain: boolean }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'tool'; readonly tool: string; readonly title: string }
  /** `denied`: the agent was not allowed to make this call. */
  | { readonly type: 'tool-result'; readonly tool: string; readonly failed: boolean; readonly denied?: true }
  /**
   * A tool, or a permission, that the agent was refused. Not an error: whether the agent stopped there shows in what
   * follows. It may have been seen on stderr, so its place among the events means nothing.
   */
  | ({ readonly type: 'denied' } & Denial)
  /** What one step used, or the whole iteration; a number that the agent does not report is null. */
  | ({ readonly type: 'usage' } & Usage)
  | ({ readonly type: 'error' } & AgentError)
  /** What the agent CLI itself said on stderr: shown and logged, never searched. */
  | { readonly type: 'stderr'; readonly text: string };

export interface Denial {
  readonly tool: string;
  /** A rule of the user's forbids it, which --allow-all does not lift. */
  readonly byRule?: true;
  /** All that was denied so far and the settings that allow it, in one sentence. */
  readonly message: string;
}

export interface AgentError {
  readonly kind: AgentErrorKind;
  readonly message: string;
  /** When a usage limit ends, in milliseconds since 1970, where the provider says so. */
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
  /** Spool ended it: it took too long, or nothing came from it any more. */
  | 'timeout'
  /** Spool ended it: a limit of the run was reached in the middle of its work. */
  | 'budget'
  | 'crash'
  | 'start'
  | 'unknown';

/** All input, cached or not, and all output, reasoning included; then the parts of them. */
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

/** How the process of an iteration ended. */
export interface TurnEnd {
  /** `answered`: a turn of an agent that goes on living, and so has no exit code. */
  readonly end: 'exited' | 'answered' | 'killed' | 'interrupted' | 'not-started' | AbortReason['end'];
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Why it could not be started, or why Spool ended it. */
  readonly problem: string | null;
}

/** Why Spool ends an agent in the middle of its work. */
export interface AbortReason {
  readonly end: 'timed-out' | 'out-of-budget';
  readonly why: string;
}

export interface GitSummary {
  /** All of them, also those that the lists leave out. */
  readonly filesChanged: number;
  readonly files: readonly string[];
  readonly insertions: number;
  readonly deletions: number;
  readonly changes: readonly FileChange[];
  /** What the agent committed by itself, oldest first. */
  readonly commits: readonly string[];
  /** How many more files there are than `files` and `changes` name; not there when they name all. */
  readonly filesLeftOut?: number;
  /** The same for `commits`. */
  readonly commitsLeftOut?: number;
}

export interface FileChange {
  readonly status: 'added' | 'modified' | 'deleted' | 'renamed';
  readonly path: string;
  /** Where a renamed file was before. */
  readonly from?: string;
}

/** One line of history.jsonl. The names are a contract; what is not known is null. */
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
  /** The last words up to the promise that counts. */
  readonly evidence: string | null;
  /** Why a promise that was printed does not count. */
  readonly rejected: string | null;
  /** The last tags that were talk about the promise, and why they were taken for it. */
  readonly mentions: readonly Mention[];
  readonly git: GitSummary | null;
  readonly commit: string | null;
  /** Why there is no commit of what it changed; null when there is one, or none was wanted. */
  readonly commitProblem: string | null;
  /** The commit that holds the work tree as the iteration left it. */
  readonly checkpoint: string | null;
  readonly usage: Usage | null;
  /** Calls by tool; null when the harness does not report them. */
  readonly tools: Readonly<Record<string, number>> | null;
  readonly error: AgentError | null;
  /** What the agent was not allowed to use, also when it found another way; null when there was nothing. */
  readonly denied: Denials | null;
  /** Why the agent gave up, in its own words. */
  readonly blocked: string | null;
  /** What was found when the promise, or with --verify-each the iteration, was looked into; null when it was not. */
  readonly gate: GateReport | null;
  /** How many tasks were done when it ended; null when there are none. */
  readonly tasks: TaskCount | null;
  /** A tool call that was made over and over. */
  readonly repeated: RepeatedCall | null;
  /** What was tried before under this number, and held up by a usage limit or an agent that did not start. */
  readonly deferred: readonly DeferredAttempt[];
}

export interface Denials {
  /** Each once; no more than ten. */
  readonly tools: readonly string[];
  /** What was denied and the settings that allow it, in one sentence. */
  readonly message: string;
}

export interface RepeatedCall {
  readonly tool: string;
  readonly title: string;
  readonly times: number;
}

/** An attempt that does not count as an iteration. What it changed and used is not lost. */
export type DeferredAttempt = Omit<IterationRecord, 'deferred'>;

/** What must hold before a promise is believed, and whether it did. */
export interface GateReport {
  readonly passed: boolean;
  /** Sentences about what was changed that had to be left alone; at most as many as `mostListed`. */
  readonly tampering: readonly string[];
  /** How many there are in all. */
  readonly tamperingCount?: number;
  /** How to put the first of them back, from the folder in which the agent works. */
  readonly restore?: readonly string[];
  /** The command with which a person accepts them; null when there are none. */
  readonly accept?: string | null;
  /** With --require-tasks; at most as many as `mostListed`. */
  readonly openTasks: readonly string[];
  /** How many there are in all. */
  readonly openTaskCount?: number;
  /** Sentences about files of the change that a person and the agent have both changed; older records have none. */
  readonly conflicts?: readonly string[];
  readonly runs: readonly GateRun[];
}

/** How many of anything a record lists. */
export const mostListed = 20;

export interface GateRun {
  readonly command: string;
  /** A command that was red is run once more; `flaky` is red, then green. */
  readonly outcome: 'passed' | 'flaky' | 'failed' | 'timed-out' | 'interrupted';
  readonly exitCode: number | null;
  readonly durationMs: number;
  /** The end of what it printed when it was red. */
  readonly tail: string;
}

export const failed = (record: IterationRecord): boolean => record.error !== null;

/** An agent to run, with the model it is given; null for its own default. */
export interface AgentChoice {
  readonly harness: string;
  readonly model: string | null;
}

/** `claude:opus`: as it is written on the command line. */
export const agentKey = ({ harness, model }: AgentChoice): string => (model === null ? harness : `${harness}:${model}`);

/** Where the agents of a run work. */
export interface Workspace {
  /** The folder in which they are started. */
  readonly root: string;
  /** The branch that was asked for, or made; null for whatever is checked out. */
  readonly branch: string | null;
  /** The linked work tree; null for the project's own folder. */
  readonly worktree: string | null;
}

/** What a run is, fixed when it starts. */
export interface RunPlan {
  readonly run: string;
  readonly change: string;
  readonly module: string | null;
  /** In the order in which they are preferred. */
  readonly agents: readonly AgentChoice[];
  readonly allowAll: boolean;
  /** The agent and what runs its work are in a sandbox. */
  readonly sandbox: boolean;
  readonly completionPromise: string;
  readonly blockedPromise: string;
  readonly minIterations: number;
  readonly maxIterations: number;
  readonly limits: Limits;
  readonly failFast: boolean;
  /** What iterations change is committed. */
  readonly commit: boolean;
  readonly retryDelayMs: number;
  readonly firstIteration: number;
  readonly gate: GatePlan;
}

/** A command that a run executes, and where it is from. */
export interface CommandOrigin {
  readonly key: 'harness' | 'verify' | 'worktreeSetup' | 'notify';
  readonly command: string;
  /** `--verify`, `SPOOL_VERIFY`, `config.json verify`, `the last run`. */
  readonly source: string;
  /** Of what the project says; null when it is the user's own. */
  readonly hash: string | null;
  /** When the user trusted it, or `SPOOL_TRUST`. */
  readonly trusted: string | null;
}

/** What must hold before a promise is believed. */
export interface GatePlan {
  readonly verify: readonly string[];
  readonly verifyEach: boolean;
  readonly requireTasks: boolean;
  readonly allowTampering: boolean;
}

/** All but the number of iterations. Infinity is no limit. */
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
  /** In a row, without a change. */
  readonly maxStalled: number;
  /** For a usage limit of the provider. */
  readonly maxWaitMs: number;
}

export type StopReason = 'complete' | 'limit' | 'failed' | 'blocked' | 'interrupted';

/** What a resumed run needs to see that the settings have changed since. */
export interface SettingsAtStart {
  /** What was asked for by flag or variable, in any call of this run. */
  readonly explicit: readonly string[];
  /** What the config file said for this change, by key, as it was written there. */
  readonly file: Readonly<Record<string, unknown>>;
}

/** All there is that can end a run, and what that makes of it. */
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

/** Work of a run that is in no commit. */
export interface Uncommitted {
  readonly why: string;
  /** The first of them. */
  readonly files: readonly string[];
  readonly count: number;
}

export interface Stop {
  readonly cause: keyof typeof stopCauses;
  /** The same in words. */
  readonly detail: string;
}

/** Everything that happens in a run. Terminal, state.json and status are readers of this one stream. */
export type RunEvent =
  | {
      readonly type: 'run-started';
      readonly plan: RunPlan;
      readonly workspace: Workspace;
      /** What is run besides the built-in agents, and where it is from. */
      readonly commands?: readonly CommandOrigin[];
      /** Short names of what the agent must leave alone. */
      readonly guarded?: readonly string[];
      readonly at: string;
    }
  | { readonly type: 'iteration-started'; readonly iteration: number; readonly agent: AgentChoice; readonly at: string }
  | { readonly type: 'agent'; readonly event: AgentEvent }
  | { readonly type: 'notice'; readonly text: string }
  | { readonly type: 'iteration-finished'; readonly record: IterationRecord; readonly at: string }
  /** The agent cannot work now: the same iteration is tried again, with another agent or when this one is free. */
  | {
      readonly type: 'attempt-deferred';
      readonly attempt: DeferredAttempt;
      readonly untilMs: number;
      readonly atMs: number;
      readonly at: string;
    }
  | { readonly type: 'waiting'; readonly untilMs: number; readonly why: string; readonly at: string }
  /** The agent has ended and its gate follows: should that be cut off, the record so far is all that is needed to run it again. */
  | { readonly type: 'iteration-pending'; readonly record: IterationRecord; readonly at: string }
  | { readonly type: 'gate-started'; readonly commands: readonly string[] }
  | ({
      readonly type: 'run-ended';
      readonly reason: StopReason;
      readonly tasks: TaskCount | null;
      readonly uncommitted?: readonly Uncommitted[];
      readonly at: string;
    } & Stop);

export type Emit = (event: RunEvent) => void;
