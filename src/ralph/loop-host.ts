import type { AbortReason, AgentEvent, TurnEnd, Usage } from './agent-events.ts';
import type { DiffStat, Emit, Stop, StopReason, Uncommitted } from './events.ts';
import type { Verdict } from './observe-iteration.ts';
import type { Deadlines } from './limits.ts';
import type { AgentChoice } from './plan.ts';
import type { GateReport, IterationRecord, TaskCount } from './record.ts';
import type { RunTotals } from './totals.ts';
import { addUsage, totalUsage } from './usage.ts';

/** What a gate knows about the iteration. */
export type EndedIteration = Verdict & Pick<IterationRecord, 'checkpoint' | 'commit'>;

/** Everything the loop needs from outside. The loop itself accesses no file, process, clock or console. */
export interface LoopHost {
  now(): Date;
  /** Milliseconds of a monotonic clock. */
  monotonicMs(): number;
  /** Running time, including the time before an interruption. */
  elapsedMs(): number;
  random(): number;
  /** The totals after all events so far. */
  totals(): RunTotals;
  /** Usage of the other runs that share the budget. */
  usageOfOthers(): Usage | null;
  /** Resolves after `ms`, or as soon as a stop or a pause is requested. */
  wait(ms: number): Promise<void>;
  /** Resolves when the clock reaches `ms`, or as soon as a stop or a pause is requested. */
  waitUntil(ms: number): Promise<void>;
  /** Resolves when the run may resume, when the clock reaches `ms`, or as soon as a stop is requested. */
  waitForResume(ms: number): Promise<void>;
  /** The run is asked to pause before its next iteration. */
  isPauseRequested(): boolean;
  /** The signal that requested a stop; null if there was none. */
  stopSignal(): string | null;
  /** Reads the current context and builds the prompt of the iteration. */
  prompt(iteration: number, last: IterationRecord | null): Promise<Prompt>;
  /** Identifies the context that people have added until now; null if there is none. */
  contextId(): string | null;
  /** Prefixes of lines that the agent CLI itself prints after the agent's message. */
  trailer(agent: AgentChoice): readonly string[];
  /** The agent is stopped as soon as `onEvent` returns a reason. */
  runAgent(job: AgentJob, onEvent: (event: AgentEvent) => AbortReason | null): Promise<TurnEnd>;
  /** Ends agents that stay running, so that nothing changes while a promise is checked. The next iteration starts new ones. */
  endAgents(): Promise<void>;
  /**
   * Takes a snapshot of the work tree. The returned function commits and describes the changes since then.
   */
  trackWork(iteration: number): Promise<(done: DoneWork) => Promise<IterationChanges>>;
  /** Returns the work that is in no commit. Called once, before `release`. */
  uncommitted(): Promise<readonly Uncommitted[]>;
  /** What the whole run has changed; null if it is not known. Called once, before `release`. */
  changed(): Promise<DiffStat | null>;
  /** Whether the change is neither active nor archived any more. */
  isChangeDeleted(): Promise<boolean>;
  /**
   * Releases the workspace and returns lines for the user about it. Called once, right before `run-ended` is emitted.
   */
  release(reason: StopReason): Promise<readonly string[]>;
  /**
   * Checks whether a promise can be accepted; null if there is nothing to check. `isResumed`: it was interrupted before.
   */
  gate(iteration: number, ended: EndedIteration, isResumed: boolean): Promise<GateReport | null>;
  /** Adds what the gate has proven to the commit of an iteration. Returns the record with its final commit. */
  addProofToCommit(record: IterationRecord): Promise<IterationRecord>;
  /** null if the change has no tasks. */
  tasks(): Promise<TaskCount | null>;
  /** The titles of the tasks that were completed since the last prompt. */
  completedTasks(): Promise<readonly string[]>;
  /** Redacts the texts of a record and limits its size. */
  boundRecord(record: IterationRecord): IterationRecord;
  /** Resolves when the record is on disk. */
  save(record: IterationRecord): Promise<void>;
  /** Reserves an iteration in a shared budget. Returns why it must not start; null if it may. */
  admit(): Promise<Stop | null>;
  /** Resolves when the iteration that was saved last is where others can continue from it. */
  publish(): Promise<void>;
  emit: Emit;
}

interface Prompt {
  readonly text: string;
  /** Identifies the context in it, as `contextId` does. */
  readonly contextId: string | null;
}

interface AgentJob {
  readonly agent: AgentChoice;
  readonly iteration: number;
  readonly prompt: string;
  readonly deadlines: Deadlines;
}

/** What the message of a commit can say about an iteration. */
export interface DoneWork {
  /** The end of the last message of the agent. */
  readonly lastWords: string;
  /** Titles of the tasks that were completed. */
  readonly ticked: readonly string[];
}

export type IterationChanges = Pick<IterationRecord, 'git' | 'commit' | 'commitProblem' | 'checkpoint'>;

/** Usage of this run and of the others that share its budget. */
export const allUsage = (host: Pick<LoopHost, 'totals' | 'usageOfOthers'>): Usage | null =>
  addUsage(totalUsage(host.totals()), host.usageOfOthers());

export const nowMs = (host: Pick<LoopHost, 'now'>): number => host.now().getTime();
