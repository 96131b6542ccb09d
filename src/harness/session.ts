import type { Sandbox } from '../process/sandbox-types.ts';
import type { AgentEvent, TurnEnd, AbortReason } from '../ralph/agent-events.ts';
import type { Deadlines } from '../ralph/limits.ts';
import type { Redactor } from '../secrets/redact.ts';
import type { Harness, Job } from './harness.ts';
import type { AgentMode } from './agent-mode.ts';
import type { PermissionRules } from './permissions/rule.ts';

/**
 * A conversation with an agent: opened once per run, prompted once per iteration, closed when the run ends, and before a
 * promise is checked. A session may start a process for each turn or keep one running.
 */
export interface AgentSession {
  /** Runs one turn, from its prompt to its last event. Rejects only if the output cannot be recorded. */
  prompt(turn: AgentTurn, observer: TurnObserver): Promise<TurnEnd>;
  /** Ends all remaining processes. The next turn would start new ones. */
  close(): Promise<void>;
}

export type OpenSession = (harness: Harness, scope: SessionScope) => AgentSession;

/** What all turns of a session share. */
export interface SessionScope {
  /** The folder in which the agent works. */
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** How long it may take to exit when asked to. */
  readonly stopGraceMs: number;
  /** `stop` ends the turn cleanly, `kill` ends it immediately. */
  readonly stopSignals: { readonly stop: AbortSignal; readonly kill: AbortSignal };
  readonly redactor: Redactor;
  /** null for no sandbox. */
  readonly sandbox: Sandbox | null;
  /** What the agent may do: it is told what it has a form for, and Spool answers what it asks. */
  readonly rules: PermissionRules;
  /** How the process of the agent lives. */
  readonly mode: AgentMode;
  /** Marks the processes of this session that live longer than a turn. */
  readonly tag: string;
  /** Tells the user something about the session. */
  readonly onNotice: (text: string) => void;
}

export interface AgentTurn {
  readonly job: Omit<Job, 'asSuperuser' | 'version'>;
  /** Unique for this turn. All processes of the turn carry it in their environment. */
  readonly tag: string;
  /** Receives all output of the agent, with secrets redacted. */
  readonly logFile: string;
  readonly deadlines: Deadlines;
}

export interface TurnObserver {
  /** Returns a reason to end the turn, or null to continue. */
  onEvent(event: AgentEvent): AbortReason | null;
  /** Back-pressure: the next output is read after this resolves, or immediately for null. */
  drained?(): Promise<void> | null;
}

/** The sessions of one run. */
export interface AgentSessions {
  /** Opens the session on first use. */
  of(harness: Harness): AgentSession;
  /** Opens another session, in another folder. The caller closes it. */
  separate(harness: Harness, folder: { readonly root: string; readonly env: NodeJS.ProcessEnv }): AgentSession;
  /** Closes all sessions: no process of an agent is left. The next turn would start new ones. */
  close(): Promise<void>;
}
