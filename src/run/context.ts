import { dirname } from 'node:path';
import type { Options } from '../config/flags.ts';
import type { WorkTree } from '../git/work-tree.ts';
import type { AgentSessions } from '../harness/session.ts';
import type { Project } from '../store/project.ts';
import type { Change } from '../changes/source.ts';
import type { Copies } from '../changes/copies.ts';
import type { Guard } from '../guard/guard.ts';
import type { FileLists } from '../store/file-lists.ts';
import { type ChangeLock } from '../store/run-lock.ts';
import { makeRunFolder } from '../store/folders.ts';
import type { Emit } from '../ralph/events.ts';
import type { PromptDocument } from '../ralph/prompt.ts';
import type { Workspace, RunPlan } from '../ralph/plan.ts';
import type { RunView } from '../ralph/view.ts';
import type { Redactor } from '../secrets/redact.ts';
import type { Sandbox } from '../process/sandbox-types.ts';
import type { RunControl } from './control.ts';
import type { Batch, ClusterRun, Reporter, RunServices } from './services.ts';
import type { TrustedRuns } from './trust-runs.ts';
import type { StopSignals } from '../process/signals.ts';

/** What the agent is asked to do. */
export interface Assignment {
  readonly userPrompt: string;
  readonly proposal: string;
  readonly module: string | null;
  /** Other texts of the change and of its project. */
  readonly documents: readonly PromptDocument[];
}

/** Everything that the parts of a run use, created once by `startRun`. Each part lists what it needs with `Pick`. */
export interface RunContext {
  /** The project that has the state. */
  readonly project: Project;
  /** The change. */
  readonly target: Change;
  /** The project in which the agents work: the same folder, or the one in the worktree. */
  readonly workProject: Project;
  readonly options: Options;
  readonly plan: RunPlan;
  readonly assignment: Assignment;
  readonly workspace: Workspace;
  /** null without a git repository. */
  readonly tree: WorkTree | null;
  readonly guard: Guard;
  /** Syncs the change between the project and the worktree. */
  readonly copies: Copies;
  /** The folder with the prompts and logs of this run. */
  readonly folder: string;
  readonly fileLists: FileLists;
  readonly lock: ChangeLock;
  readonly emit: Emit;
  readonly view: () => RunView;
  readonly redactor: Redactor;
  readonly sessions: AgentSessions;
  /** The sandbox of agents and of the user's commands; null without one. */
  readonly sandbox: Sandbox | null;
  readonly stopSignals: StopSignals;
  /** Includes `stopSignals`. */
  readonly control: RunControl;
  /** The running time of this run, including the time before an interruption. */
  readonly elapsedMs: () => number;
  /** Whether an earlier process has begun this run. */
  readonly isResumed: boolean;
  /** Whether Spool was killed during an iteration of this run. */
  readonly crashedMidIteration: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly findHarness: RunServices['findHarness'];
  readonly reporter: Reporter;
  readonly trusted: TrustedRuns;
  readonly batch: Batch | null;
  readonly cluster: ClusterRun | null;
  /** Marks the processes of this run. */
  readonly tag: string;
}

/** Creates the folders and the lock again if an agent or a verify command has deleted them. */
export const ensureRunState = ({
  project,
  plan,
  lock,
  emit,
}: Pick<RunContext, 'project' | 'plan' | 'lock' | 'emit'>): void => {
  const deleted = lock.reassert();
  makeRunFolder(project, plan.change, plan.run);
  if (deleted)
    emit({ type: 'notice', text: 'The state folder was deleted: the history before this iteration is gone.' });
};

/** Keeps git from using the repository around a worktree if the `.git` of the worktree was deleted. */
export const gitCeilingEnv = ({ worktree }: Pick<Workspace, 'worktree'>): NodeJS.ProcessEnv =>
  worktree === null ? {} : { GIT_CEILING_DIRECTORIES: dirname(worktree) };
