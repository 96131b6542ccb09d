import type { AgentEvent } from '../ralph/agent-events.ts';

/** An agent that is a function of the program that started the run. The returned text is its last message. */
export type AgentFunction = (turn: FunctionTurn) => Promise<string | void> | string | void;

export interface FunctionTurn {
  readonly prompt: string;
  /** The folder to work in. */
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Aborted when the turn has to end: the run was stopped, or a limit was reached. */
  readonly signal: AbortSignal;
  /** Reports what the agent does, such as tool calls and usage. */
  readonly emit: (event: AgentEvent) => void;
}
