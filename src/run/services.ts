import type { Harness } from '../harness/harness.ts';
import type { StopSignals, StopSignalName } from '../process/signals.ts';
import type { OnRunEvent, RunView } from '../ralph/view.ts';

/** What a run is given by whoever starts it: a command line, a page, a program. */
export interface RunServices {
  readonly env: NodeJS.ProcessEnv;
  /** The harness of that name; an error when there is none. */
  readonly find: (name: string) => Harness;
  readonly reporter: Reporter;
  /** Listens for requests to stop. `onFirst` is called with the first one. */
  readonly onStopSignals: (onFirst: (signal: StopSignalName) => void) => StopSignals;
  /** Decides what only a person can decide; null where nobody can be asked. */
  readonly person: Person | null;
}

/** Shows a run. */
export interface Reporter {
  readonly onEvent: OnRunEvent;
  /** Called with what belongs to no event. */
  readonly warn: (text: string) => void;
  /** Resolves when the reporter can take more; null when it can now. Resolves at once when `stop` is aborted. */
  readonly drained: (stop: AbortSignal) => Promise<void> | null;
}

export interface Person {
  /** Whether an interrupted run that was started elsewhere is to be resumed. */
  agreesToResume(view: RunView): Promise<boolean>;
  /** When to stop instead, as `--until` takes it; null when the person gave no answer. `passed` says when the run was to stop. */
  chooseUntil(passed: string): Promise<string | null>;
}
