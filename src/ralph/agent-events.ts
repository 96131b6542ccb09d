/** An event of an agent, in the same form for all harnesses. */
export type AgentEvent =
  /** A whole message of the agent, or with `plain` a piece of unstructured output. */
  | { readonly type: 'text'; readonly text: string; readonly plain: boolean }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'tool'; readonly tool: string; readonly title: string }
  | {
      readonly type: 'tool-result';
      readonly tool: string;
      readonly failed: boolean;
      /** The call was not permitted. */
      readonly denied?: true;
      /** A subagent worked in it, and may have said what came as messages of the agent until now. */
      readonly subagent?: true;
    }
  /**
   * A tool or permission was denied. Not an error: the agent may continue. It may come from stderr, so its position
   * among the events means nothing.
   */
  | ({ readonly type: 'denied' } & Denial)
  /** Usage of one step, or of the whole iteration. Values that the agent does not report are null. */
  | ({ readonly type: 'usage' } & Usage)
  | ({ readonly type: 'error' } & AgentError)
  /** stderr of the agent CLI: shown and logged, but not searched for the promise. */
  | { readonly type: 'stderr'; readonly text: string };

interface Denial {
  readonly tool: string;
  /** A rule of the user forbids it, which --allow-all does not override. */
  readonly byRule?: true;
  /** Why Spool denied it, without a full stop; missing if the agent did by itself. */
  readonly reason?: string;
  /** The permission rule that would allow it. */
  readonly suggestedRule?: string;
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
