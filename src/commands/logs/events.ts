import { userError } from '../../errors.ts';
import { say } from '../../report/message.ts';
import { replay } from '../../report/replay.ts';
import { followRun } from '../../store/follow.ts';
import { commandLine } from '../../text/shell-words.ts';
import { displayRecorded, renderGone } from '../runs/recorded-display.ts';
import { endCode, whyMissing } from './ending.ts';
import type { LogFiles } from './log-files.ts';

export interface EventOptions {
  readonly iteration: number;
  readonly follow: boolean;
  readonly onlyReviews: boolean;
  readonly json: boolean;
  readonly verbose: boolean;
  readonly cwd: string;
}

/** Shows the events of an iteration; with `follow`, those of the whole run from there on. Returns the exit code. */
export const showEvents = async (files: LogFiles, options: EventOptions): Promise<number> => {
  const { project, change, run, env, terminal, signals, closed, stop } = files;
  const { iteration, follow, onlyReviews, json, verbose, cwd } = options;
  // In a file, all of it is the result.
  const shownOn = terminal.isInteractive ? terminal : { ...terminal, isInteractive: false, log: terminal.print };
  const display = displayRecorded({ project, terminal: shownOn, cwd, env, json, verbose, isReplay: !follow });
  const { view, wasShown, isGone } = await replay({
    events: followRun(project, change, { run, env, signal: stop, wait: follow, fromIteration: iteration }),
    iteration,
    follow,
    onlyReviews,
    display,
    signal: stop,
    drained: terminal.drained,
  }).finally(display.dispose);
  if (closed.aborted) return 0;
  const stopped = signals.received();
  if (stopped !== null) {
    if (follow && view?.status === 'running') say(terminal, `Stopped following ${change}. ${stillRunning(change)}`);
    return endCode(null, stopped);
  }
  if (!wasShown && !(follow && view !== null))
    throw userError('no-log', change, iteration, 'record', whyMissing(files, view, iteration));
  if (!follow) return 0;
  if (isGone && view !== null && !json) shownOn.log(`\n${(await renderGone(view, files)).join('\n')}\n`);
  return endCode(view, null);
};

const stillRunning = (change: string): string =>
  `The run continues; stop it with: ${commandLine('spool', 'stop', change)}`;
