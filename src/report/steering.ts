import type { ControlCommand } from '../ralph/control.ts';
import { isLastIteration, isWorking, type RunView } from '../ralph/view.ts';
import { dayTime } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';

/** Describes a request of another process, for the output of the run. Returns null if an event says more. */
export const requestText = (command: ControlCommand, view: RunView): string | null => {
  const when = isWorking(view) ? ' after this iteration' : '';
  switch (command) {
    case 'stop':
      return 'Stop requested: stopping the agent. A second request kills it.';
    case 'stop-after-iteration':
      return `Stop requested: the run stops${when}.`;
    case 'pause':
      if (isLastIteration(view))
        return `Pause requested, but iteration ${view.iteration} is the last one: the run ends with it.`;
      return `Pause requested: the run pauses${when}.`;
    case 'resume':
      return view.pausedAt ? null : 'Resume requested: the run continues without a pause.';
  }
};

export const pausedText = ({ change }: RunView): string =>
  `Paused. Resume with: ${commandLine('spool', 'resume', change)}`;

/** Describes what other processes have asked of a run that is running; null for nothing. */
export const steeringText = (view: RunView): string | null => {
  const { change, iteration, requested, pausedAt } = view;
  const resume = commandLine('spool', 'resume', change);
  if (pausedAt) return `paused since ${dayTime(new Date(pausedAt))}; resume with: ${resume}`;
  if (!requested || (requested === 'pause' && isLastIteration(view))) return null;
  const when = isWorking(view) ? ` after iteration ${iteration}` : '';
  return requested === 'pause' ? `pausing${when} (cancel with: ${resume})` : `stopping${when}`;
};
