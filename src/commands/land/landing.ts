import type { Options } from '../../flags.ts';
import type { Project } from '../../project/find.ts';
import type { Call } from '../command.ts';
import type { Stops } from '../ralph/signals.ts';

/** Read once, so that what was trusted is what is run. */
export interface LandSettings {
  readonly options: Options;
  /** The gate of the last run, or of the config file and the flags. */
  readonly commands: readonly string[];
  /** Asked for, or what the last run was in. */
  readonly sandbox: boolean;
}

export interface LandRequest {
  readonly project: Project;
  readonly change: string;
  readonly call: Call;
  readonly settings: LandSettings;
  readonly stops: Stops;
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
