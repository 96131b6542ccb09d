import type { RunState } from '../state/run-state.ts';

/** An iteration that is not in the history: it is running, or was cut off when its run was killed. */
export interface Unfinished {
  readonly number: number;
  readonly isRunning: boolean;
}

/** null if there is none, and as long as the history is not loaded. */
export const unfinishedOf = ({ detail, iterations, isLoading }: RunState): Unfinished | null => {
  if (isLoading && iterations.length === 0) return null;
  const last = iterations.at(-1)?.iteration ?? 0;
  const isRunning = detail.status === 'running' && detail.view !== null;
  const number = isRunning ? detail.view.iteration : detail.lastIteration;
  return number > last ? { number, isRunning } : null;
};
