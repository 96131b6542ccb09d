import type { FlagName, Options } from '../config/flags.ts';
import type { FileSettings } from '../config/resolve.ts';
import type { PassList } from '../process/passed-environment.ts';
import type { StopReason } from '../ralph/events.ts';
import type { RunView } from '../ralph/view.ts';
import type { Project } from '../store/project.ts';

/** What to run. */
export interface RunSpec {
  readonly project: Project;
  readonly change: string;
  /** What the user asks for besides the change; empty for nothing, or for the prompt of the interrupted run. */
  readonly prompt: string;
  readonly options: Options;
  /** The settings that this call gives itself. A resumed run keeps its own value of all others. */
  readonly explicit: ReadonlySet<FlagName>;
  /** What the config file says for this change, by key, as it is written there. */
  readonly fileSettings: FileSettings;
  /** Limit which variables of the environment reach agents and commands. */
  readonly passLists: readonly PassList[];
  /** What paths in the settings are relative to. */
  readonly cwd: string;
}

export interface RunResult {
  readonly reason: StopReason;
  readonly cause: RunView['cause'];
  /** The cause in words. */
  readonly detail: string;
  readonly view: RunView;
}
