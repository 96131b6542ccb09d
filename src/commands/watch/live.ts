import { asUserError } from '../../errors.ts';
import type { FollowedEvent } from '../../store/follow.ts';
import { followRun } from '../../store/follow.ts';
import type { Project } from '../../store/project.ts';
import { replay } from '../../report/replay.ts';
import { displayRecorded, renderGone } from '../runs/recorded-display.ts';
import type { Invocation } from '../registry/command.ts';
import type { StartedRow } from './model.ts';

export interface LiveRequest extends Pick<Invocation, 'cwd' | 'env' | 'terminal'> {
  readonly project: Project;
  /** Aborted to stop. Nothing is written afterwards. */
  readonly signal: AbortSignal;
}

/** Follows a run as it is shown where it runs. Resolves when it has ended, or when it is stopped. */
export const showLive = async (row: StartedRow, request: LiveRequest): Promise<void> => {
  const { project, env, terminal, signal } = request;
  const { change, run, iteration } = row;
  const display = displayRecorded(request);
  const first = Math.max(1, iteration);
  try {
    const { view, isGone } = await replay({
      events: followRun(project, change, { run, env, signal, fromIteration: first }),
      iteration: first,
      follow: true,
      display,
      signal,
      drained: terminal.drained,
    });
    if (isGone && view !== null) ['', ...(await renderGone(view, { project, terminal, env }))].forEach(display.warn);
  } catch (error) {
    display.warn(problemOf(error));
  } finally {
    display.dispose();
  }
};

/** The message of an error that the user can do something about. */
export const problemOf = (error: unknown): string => {
  const known = asUserError(error);
  if (known === null) throw error;
  return known.message;
};

/** The events until `signal` is aborted. */
export async function* untilStopped(
  events: AsyncIterable<FollowedEvent>,
  signal: AbortSignal,
): AsyncGenerator<FollowedEvent, void, undefined> {
  for await (const event of events) {
    if (signal.aborted) return;
    yield event;
  }
}
