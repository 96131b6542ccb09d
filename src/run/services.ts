import type { UserError } from '../errors.ts';
import type { Harness } from '../harness/harness.ts';
import type { Lookup } from '../harness/program.ts';
import type { OpenSession } from '../harness/session.ts';
import type { StopSignals } from '../process/signals.ts';
import type { Usage } from '../ralph/agent-events.ts';
import type { Stop } from '../ralph/events.ts';
import type { ProvingWorker } from '../ralph/proof.ts';
import type { OnRunEvent, RunView } from '../ralph/view.ts';
import type { Request, Requested } from '../ralph/control.ts';
import type { TrustedRuns } from './trust-runs.ts';

/** What a run needs from its caller: a command line, a page, a program. */
export interface RunServices {
  readonly env: NodeJS.ProcessEnv;
  /** The process that owns the run, shown by other processes. */
  readonly pid: number;
  /** The caller is Spool itself, and not a program that uses it as a library. */
  readonly ownsProcess: boolean;
  /** Returns the harness with that name; throws if there is none. */
  readonly findHarness: (name: string) => Harness;
  /** Starts a conversation with an agent. */
  readonly openSession: OpenSession;
  /** Returns the error for an agent that is not installed; null if it is. */
  readonly missingAgent: (harness: Harness, lookup: Lookup) => UserError | null;
  readonly reporter: Reporter;
  /** Listens for requests to stop. `onFirst` is called at the first one, with what the user is told about it. */
  readonly onStopSignals: (onFirst: (notice: string) => void) => StopSignals;
  /** Asks the user; null without a terminal. */
  readonly person: Person | null;
  readonly trusted: TrustedRuns;
  /** What this run shares with others that were started together with it. */
  readonly batch?: Batch;
  /** Set if other machines can continue this run. */
  readonly cluster?: ClusterRun;
}

/** What a run does before and after each iteration so that other machines can continue it. */
export interface ClusterRun {
  /** Marks the processes of this attempt: another worker on this machine may have started the same run. */
  readonly tag: string;
  /** Who runs it, as the proof of the change says. */
  worker(): ProvingWorker;
  /** Reserves an iteration in the shared budget. Returns why it must not start; null if it may. */
  admit(next: NextIteration): Promise<Stop | null>;
  /** Publishes the work and the state of the run. */
  publish(): Promise<void>;
  /** How often the files are saved while an agent works. */
  readonly publishUnfinishedMs: number;
  /** Publishes a commit with the files of an iteration that has not finished. */
  publishUnfinished(commit: string): Promise<void>;
  /** The last such commit of a worker that did not finish its iteration; null if there is none. */
  readonly work: string | null;
  /** Variables of the worker that agents, commands and hooks do not get. */
  readonly withheld: readonly string[];
  /** What a sandbox hides of the worker now: its credentials, and the clones of other changes. */
  hidden(): readonly string[];
}

export interface NextIteration {
  readonly run: string;
  readonly iteration: number;
  /** What the run has cost so far, as far as it knows. */
  readonly costUsd: number | null;
}

/** The services that all runs of a call share. */
export type CommonServices = Omit<RunServices, 'reporter' | 'onStopSignals' | 'person' | 'batch' | 'cluster'>;

/** Shows a run. */
export interface Reporter {
  readonly onEvent: OnRunEvent;
  /** Called with messages that belong to no event. */
  readonly warn: (text: string) => void;
  /** Rings the bell of the terminal. Missing if there is none. */
  readonly bell?: () => void;
  /** Resolves when the reporter can take more; null if it can now. Resolves at once if `stop` is aborted. */
  readonly drained: (stop: AbortSignal) => Promise<void> | null;
  /** Called when the run ends in any way, before its error is shown. May be called more than once. */
  readonly dispose: () => void;
}

export interface Person {
  /** Asks whether to resume an interrupted run that was started elsewhere. */
  agreesToResume(view: RunView): Promise<boolean>;
  /**
   * Asks for a new time to stop, in the format of `--until`; null without an answer. `passed` is the time that has
   * passed.
   */
  chooseUntil(passed: string): Promise<string | null>;
}

export interface Batch {
  /** Returns the usage of the other runs so far. */
  usageOfOthers(): Usage | null;
  /** Runs work that only one run may do at a time. */
  exclusive<Result>(work: () => Promise<Result>): Promise<Result>;
  /** What was requested for all runs. It also applies to those that have not started yet. */
  requested(): Requested;
  request(request: Request): void;
  /** Agents that keep a database get a separate one. */
  readonly isolateAgentData: boolean;
}
