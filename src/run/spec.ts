import type { FlagName, Options, FileSettings } from '../config/flags.ts';
import type { PassList } from '../process/passed-environment.ts';
import type { Change, NewChange } from '../changes/source.ts';
import type { Project } from '../store/project.ts';

/** What to run. */
export interface RunSpec {
  readonly project: Project;
  /** The change to run. */
  readonly target: Change;
  /** What the user asks for in addition to the change. If empty, a resumed run uses its earlier prompt. */
  readonly prompt: string;
  readonly options: Options;
  /** The settings that the caller sets explicitly. A resumed run keeps its own values of all others. */
  readonly explicit: ReadonlySet<FlagName>;
  /** The values in the config file for this change, by key. */
  readonly fileSettings: FileSettings;
  /** Limit which variables of the environment reach agents and commands. */
  readonly passLists: readonly PassList[];
  /** The folder that paths in the settings are relative to. */
  readonly cwd: string;
  /** Lines for the user about the settings. */
  readonly notices?: readonly string[];
  /** The change, if the run has to create it. It is created when everything else has been checked. */
  readonly newChange?: NewChangeSpec;
}

export interface NewChangeSpec extends NewChange {
  /** The project does not exist yet either. */
  readonly isNewProject: boolean;
}
