import type { Options } from '../config/flags.ts';
import type { Project } from '../store/project.ts';
import type { PassList } from '../process/passed-environment.ts';
import type { StopSignals } from '../process/signals.ts';

/** Read once, so that what was trusted is what is run. */
export interface LandSettings {
  readonly options: Options;
  /** The gate of the last run, or of the config file and the flags. */
  readonly commands: readonly string[];
  /** Asked for, or what the last run was in. */
  readonly sandbox: boolean;
  /** Limit which variables reach the commands that a landing runs. */
  readonly passLists: readonly PassList[];
  /** Throws when a trusted command would run a file in this folder that is not the trusted one. */
  readonly checkIn: (root: string, howToSee: (path: string) => string) => void;
}

export interface LandRequest {
  readonly project: Project;
  readonly change: string;
  readonly env: NodeJS.ProcessEnv;
  /** What paths in settings and in messages are relative to. */
  readonly cwd: string;
  /** The branch to land on; null for the one that the branch of the change began at. */
  readonly onto: string | null;
  /** Also when the change is not complete. */
  readonly force: boolean;
  readonly keepBranch: boolean;
  /** Called with what the user should know. */
  readonly say: (line: string) => void;
  /** null where nobody can be asked. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
  readonly settings: LandSettings;
  readonly stopSignals: StopSignals;
}

export interface Landing extends LandRequest {
  readonly branch: string;
  readonly base: string;
  /** Where the branch was when this began. */
  readonly tip: string;
  /** Where the base was when this began. */
  readonly baseTip: string;
  /** The change has a worktree. */
  readonly hasWorktree: boolean;
  /** The project in its repository: empty, or `sub/`. */
  readonly prefix: string;
  /** Where it is tried out. */
  readonly trial: string;
}
