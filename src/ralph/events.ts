import type { Mention } from './promise.ts';

/** What an agent did, in one language for every harness. */
export type AgentEvent =
  /** The agent's own words. `plain` text is output without structure; otherwise it is one whole message. */
  | { readonly type: 'text'; readonly text: string; readonly plain: boolean }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'tool'; readonly tool: string; readonly about: string }
  | { readonly type: 'tool-result'; readonly tool: string; readonly failed: boolean }
  /** What one step used, or the whole iteration; a number that the agent does not report is null. */
  | ({ readonly type: 'usage' } & Usage)
  | ({ readonly type: 'error' } & AgentError)
  /** What the agent CLI itself said on stderr: shown and logged, never searched. */
  | { readonly type: 'stderr'; readonly text: string };

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
  | 'limit'
  | 'overload'
  | 'context'
  | 'permission'
  | 'transport'
  | 'truncated'
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

export const nothingKnown: Usage = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
  costUsd: null,
};

/** What is unknown in both stays unknown; what one of them knows is counted. */
export const addUsage = (a: Usage | null, b: Usage | null): Usage | null => {
  if (a === null || b === null) return a ?? b;
  const add = (one: number | null, other: number | null) => (one === null ? other : one + (other ?? 0));
  return {
    inputTokens: add(a.inputTokens, b.inputTokens),
    outputTokens: add(a.outputTokens, b.outputTokens),
    cacheReadTokens: add(a.cacheReadTokens, b.cacheReadTokens),
    cacheWriteTokens: add(a.cacheWriteTokens, b.cacheWriteTokens),
    reasoningTokens: add(a.reasoningTokens, b.reasoningTokens),
    costUsd: add(a.costUsd, b.costUsd),
  };
};

/** How the process of an iteration ended. */
export interface Ended {
  readonly end: 'exited' | 'killed' | 'interrupted' | 'not-started';
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Why it could not be started. */
  readonly problem: string | null;
}

export interface GitSummary {
  readonly filesChanged: number;
  readonly files: readonly string[];
  readonly insertions: number;
  readonly deletions: number;
}

/** One line of history.jsonl. The names are a contract; what is not known is null. */
export interface IterationRecord {
  readonly v: 1;
  readonly run: string;
  readonly iteration: number;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly harness: string;
  readonly model: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly end: Ended['end'];
  readonly completionFound: boolean;
  /** The last words up to the promise that counts. */
  readonly evidence: string | null;
  /** Why a promise that was printed does not count. */
  readonly rejected: string | null;
  /** The last tags that were talk about the promise, and why they were taken for it. */
  readonly mentions: readonly Mention[];
  readonly git: GitSummary | null;
  readonly commit: string | null;
  readonly checkpoint: string | null;
  readonly usage: Usage | null;
  /** Calls by tool; null when the harness does not report them. */
  readonly tools: Readonly<Record<string, number>> | null;
  readonly error: AgentError | null;
}

export const failed = (record: IterationRecord): boolean => record.error !== null;

/** An agent to run, with the model it is given; null for its own default. */
export interface AgentChoice {
  readonly harness: string;
  readonly model: string | null;
}

/** What a run is, fixed when it starts. */
export interface RunPlan {
  readonly run: string;
  readonly change: string;
  readonly module: string | null;
  /** In the order in which they are preferred. */
  readonly agents: readonly AgentChoice[];
  readonly allowAll: boolean;
  readonly completionPromise: string;
  readonly minIterations: number;
  readonly maxIterations: number;
  readonly failFast: boolean;
  readonly retryDelayMs: number;
  readonly firstIteration: number;
}

export type StopReason = 'complete' | 'limit' | 'failed' | 'interrupted';

/** Everything that happens in a run. Terminal, state.json and status are readers of this one stream. */
export type RunEvent =
  | { readonly type: 'run-started'; readonly plan: RunPlan; readonly at: string }
  | { readonly type: 'iteration-started'; readonly iteration: number; readonly agent: AgentChoice; readonly at: string }
  | { readonly type: 'agent'; readonly event: AgentEvent }
  | { readonly type: 'notice'; readonly text: string }
  | { readonly type: 'iteration-finished'; readonly record: IterationRecord; readonly at: string }
  | { readonly type: 'waiting'; readonly ms: number; readonly why: string }
  | { readonly type: 'run-ended'; readonly reason: StopReason; readonly detail: string; readonly at: string };

export type Emit = (event: RunEvent) => void;
