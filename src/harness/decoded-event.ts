import type { AgentEvent } from '../ralph/agent-events.ts';

/** What a decoder returns. A denial also has what the diagnosis needs for its advice. */
export type DecodedEvent = AgentEvent | (AgentEvent & { readonly type: 'denied' } & DenialDetails);

export interface DenialDetails {
  /** What the agent denied by itself. */
  readonly call?: DeniedCall;
  /** Why Spool denied it. */
  readonly reason?: string;
  /** What can be done about a denial of Spool. */
  readonly remedy?: Remedy;
}

/** A tool call that an agent has denied by itself, as far as it reports it. */
export interface DeniedCall {
  readonly tool: string;
  readonly input: unknown;
}

/** What can be done about a denial: a rule to add, or the reason why a rule of the user denies it. */
export type Remedy = { readonly add: string } | { readonly reason: string };
