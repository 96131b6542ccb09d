import type { Sandbox } from '../process/sandbox.ts';
import type { AgentEvent, TurnEnd, AbortReason } from '../ralph/events.ts';
import type { Deadlines } from '../ralph/limits.ts';
import type { Redactor } from '../secrets/redact.ts';
import type { Harness, Job } from './harness.ts';

/**
 * A conversation with an agent: opened once in a run, prompted once in each iteration, closed when the run ends. Whether
 * there is a process for each turn, or one that stays, is a matter of the session.
 */
export interface AgentSession {
  /** One turn, from its prompt to its last event. Rejects only when its output cannot be recorded. */
  prompt(turn: AgentTurn, observer: TurnObserver): Promise<TurnEnd>;
  /** Ends what is left of it. Nothing is prompted afterwards. */
  close(): Promise<void>;
}

export type OpenSession = (harness: Harness, scope: SessionScope) => AgentSession;

/** What is the same for all turns. */
export interface SessionScope {
  /** Where the agent works. */
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** How long it may take to end when it is asked to. */
  readonly stopGraceMs: number;
  /** Aborted to end the turn cleanly, and to end it now. */
  readonly stopSignals: { readonly stop: AbortSignal; readonly kill: AbortSignal };
  readonly redactor: Redactor;
  /** null for no sandbox. */
  readonly sandbox: Sandbox | null;
}

export interface AgentTurn {
  readonly job: Omit<Job, 'asSuperuser' | 'version'>;
  /** Unique for this turn: processes that it starts carry it. */
  readonly tag: string;
  /** All that the agent prints goes here, but for secrets. */
  readonly logFile: string;
  readonly deadlines: Deadlines;
}

export interface TurnObserver {
  /** Answers when the turn must be ended, and why. */
  see(event: AgentEvent): AbortReason | null;
  /** The next output is read when this has resolved, or at once. */
  drained?(): Promise<void> | null;
}

/** The sessions of a run with its agents. */
export interface AgentSessions {
  /** Opened when an agent is prompted for the first time. */
  of(harness: Harness): AgentSession;
  /** Closes all of them. */
  close(): Promise<void>;
}
