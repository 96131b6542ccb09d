import { dirname } from 'node:path';
import type { Options } from '../config/flags.ts';
import type { WorkTree } from '../git/worktree.ts';
import type { AgentSessions } from '../harness/session.ts';
import type { Project } from '../store/project.ts';
import type { Copies } from '../changes/copies.ts';
import type { Guard } from '../guard/guard.ts';
import type { Notes } from '../store/notes.ts';
import { type ChangeLock } from '../store/run-lock.ts';
import { makeRunFolder } from '../store/folders.ts';
import type { Emit, Workspace, RunPlan } from '../ralph/events.ts';
import type { RunView } from '../ralph/view.ts';
import type { Redactor } from '../secrets/redact.ts';
import type { Sandbox } from '../process/sandbox.ts';
import type { Batch, Reporter, RunServices } from './services.ts';
import type { TrustedRuns } from './trust.ts';
import type { StopSignals } from '../process/signals.ts';

/** What the agent is asked to do. */
export interface RunTask {
  readonly userPrompt: string;
  readonly proposal: string;
  readonly module: string | null;
}

/** Everything that the parts of a run work with, created once by `startRun`. Each part takes what it needs with `Pick`. */
export interface RunContext {
  /** Where the state is kept. */
  readonly project: Project;
  /** Where the agents work: the same folder, or that of a linked work tree. */
  readonly work: Project;
  readonly options: Options;
  readonly plan: RunPlan;
  readonly task: RunTask;
  readonly workspace: Workspace;
  /** null without git. */
  readonly tree: WorkTree | null;
  readonly guard: Guard;
  /** The change as the agents see it, and as the project has it. */
  readonly copies: Copies;
  /** Where the prompts and the logs of this run are stored. */
  readonly folder: string;
  readonly notes: Notes;
  readonly lock: ChangeLock;
  readonly emit: Emit;
  readonly view: () => RunView;
  readonly redactor: Redactor;
  readonly sessions: AgentSessions;
  /** Where agents and the commands of the user run; null for no sandbox. */
  readonly sandbox: Sandbox | null;
  readonly stopSignals: StopSignals;
  /** How long this run has been running, including before it was interrupted. */
  readonly elapsedMs: () => number;
  /** Spool was killed in the middle of an iteration of this run. */
  readonly crashedMidIteration: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly find: RunServices['find'];
  readonly reporter: Reporter;
  readonly trusted: TrustedRuns;
  readonly batch: Batch | null;
}

/** `0007.log` */
export const iterationFile = (iteration: number, ending: string) => `${String(iteration).padStart(4, '0')}.${ending}`;

/** Creates the folders and the lock again when an agent, or a gate, has deleted them. */
export const ensureRunState = ({
  project,
  plan,
  lock,
  emit,
}: Pick<RunContext, 'project' | 'plan' | 'lock' | 'emit'>): void => {
  const deleted = lock.keep();
  makeRunFolder(project, plan.change, plan.run);
  if (deleted)
    emit({ type: 'notice', text: 'The state folder was deleted: the history before this iteration is gone.' });
};

/** A worktree is inside the project: when its `.git` is gone, git must not use the repository around it. */
export const gitCeilingEnv = ({ worktree }: Workspace): NodeJS.ProcessEnv =>
  worktree === null ? {} : { GIT_CEILING_DIRECTORIES: dirname(worktree) };
