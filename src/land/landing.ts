import type { Options } from '../config/flags.ts';
import type { Change } from '../changes/source.ts';
import type { ScenarioCommands } from '../ralph/plan.ts';
import type { Project } from '../store/project.ts';
import type { PassList } from '../process/passed-environment.ts';
import type { StopSignals } from '../process/signals.ts';

/** The settings of a landing, read once, so that the commands that were trusted are the ones that run. */
export interface LandSettings {
  readonly options: Options;
  /** The verify commands of the last run, or of the config file and the flags. */
  readonly commands: readonly string[];
  /** What must prove the scenarios; null if they need not be proven. */
  readonly proof: LandProofSettings | null;
  /** Whether a sandbox was requested, or used by the last run. */
  readonly sandbox: boolean;
  /** Limit which variables reach the commands that a landing runs. */
  readonly passLists: readonly PassList[];
  /** Throws if a trusted command would run a file in this folder that differs from the trusted one. */
  readonly checkIn: (root: string, howToSee: (path: string) => string) => void;
}

export interface LandProofSettings {
  /** The `**Verify**:` commands of the scenarios, which run as well. */
  readonly scenarioCommands: ScenarioCommands;
  /** Patterns of files with test results, as in the last run. */
  readonly reports: readonly string[];
}

export interface LandRequest {
  readonly project: Project;
  readonly change: string;
  readonly target: Change;
  readonly env: NodeJS.ProcessEnv;
  /** The folder that paths in settings and messages are relative to. */
  readonly cwd: string;
  /** The branch to land on; null for the one from which the branch of the change was created. */
  readonly onto: string | null;
  /** Land even if the change is not complete. */
  readonly force: boolean;
  readonly keepBranch: boolean;
  /** Rebases and verifies in the staging worktree, and changes nothing else. */
  readonly dryRun: boolean;
  /** Prints a line for the user. */
  readonly say: (line: string) => void;
  /** null without a terminal. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
  readonly settings: LandSettings;
  readonly stopSignals: StopSignals;
}

export interface Landing extends LandRequest {
  readonly branch: string;
  readonly base: string;
  /** The commit of the branch when the landing began. */
  readonly tip: string;
  /** The commit of the base when the landing began. */
  readonly baseTip: string;
  readonly hasWorktree: boolean;
  /** The path of the project in its repository: empty, or `sub/`. */
  readonly prefix: string;
  /** The worktree in which the branch is rebased and verified before the base moves. */
  readonly staging: string;
}
