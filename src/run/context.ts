import { dirname } from 'node:path';
import type { Options } from '../config/flags.ts';
import type { WorkTree } from '../git/worktree.ts';
import type { Harness } from '../harness/harness.ts';
import type { AgentSessions } from '../harness/session.ts';
import type { Project } from '../store/project.ts';
import type { Copies } from '../changes/copies.ts';
import type { Guard } from '../guard/guard.ts';
import type { Notes } from '../store/notes.ts';
import { type ChangeLock } from '../store/run-lock.ts';
import { makeRunFolder } from '../store/folders.ts';
import type { Emit, Workspace, RunPlan, Usage } from '../ralph/events.ts';
import type { Redactor } from '../secrets/redact.ts';
import type { Sandbox } from '../process/sandbox.ts';
import type { Reporter } from './services.ts';
import type { TrustedRuns } from './trust.ts';
import type { StopSignals } from '../process/signals.ts';

/** What a run is about. */
export interface RunTask {
  readonly userPrompt: string;
  readonly proposal: string;
  readonly module: string | null;
}

export interface RunContext {
  /** Where the state is kept. */
  readonly project: Project;
  /** Where the agents work: the same folder, or that of a linked work tree. */
  readonly work: Project;
  readonly options: Options;
  readonly find: (name: string) => Harness;
  readonly env: NodeJS.ProcessEnv;
  readonly reporter: Reporter;
  readonly task: RunTask;
  readonly plan: RunPlan;
  /** Where the prompts and the logs of this run go. */
  readonly folder: string;
  readonly notes: Notes;
  readonly lock: ChangeLock;
  readonly workspace: Workspace;
  /** null where there is no git. */
  readonly tree: WorkTree | null;
  readonly stopSignals: StopSignals;
  readonly emit: Emit;
  readonly guard: Guard;
  /** The change as the agents see it, and as the project has it. */
  readonly copies: Copies;
  readonly redactor: Redactor;
  readonly sessions: AgentSessions;
  readonly trusted: TrustedRuns;
  /** Where agents and the commands of the user run; null for no sandbox. */
  readonly sandbox: Sandbox | null;
  /** Spool was killed in the middle of an iteration of this run. */
  readonly crashedMidIteration: boolean;
  /** What runs that were started together with this one have used. */
  readonly usageOfOthers: () => Usage | null;
  /** Agents that keep a database get one of their own. */
  readonly isolateAgentData: boolean;
  /** How long this run has been at work. */
  readonly elapsedMs: () => number;
}

/** `0007.log` */
export const iterationFile = (iteration: number, ending: string) => `${String(iteration).padStart(4, '0')}.${ending}`;

/** Makes the folders and the lock anew when an agent, or a gate, has deleted them. */
export const ensureRunState = ({ project, plan, lock, emit }: RunContext): void => {
  const deleted = lock.keep();
  makeRunFolder(project, plan.change, plan.run);
  if (deleted)
    emit({ type: 'notice', text: 'The state folder was deleted: the history before this iteration is gone.' });
};

/** A worktree lies inside the project: without its own `.git`, git must not take the repository around it. */
export const gitCeilingEnv = ({ worktree }: Workspace): NodeJS.ProcessEnv =>
  worktree === null ? {} : { GIT_CEILING_DIRECTORIES: dirname(worktree) };
