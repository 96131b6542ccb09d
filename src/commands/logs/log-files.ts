import type { StopSignals } from '../../process/signals.ts';
import type { Terminal } from '../../report/terminal.ts';
import type { Project } from '../../store/project.ts';

/** The files of one run. */
export interface LogFiles {
  readonly project: Project;
  readonly change: string;
  readonly run: string;
  readonly env: NodeJS.ProcessEnv;
  readonly terminal: Terminal;
  readonly signals: StopSignals;
  /** Aborted when the reader of the output is gone. */
  readonly closed: AbortSignal;
  /** Aborted by a signal, or when the reader is gone. */
  readonly stop: AbortSignal;
}
