import { hostname } from 'node:os';
import { sendMessage } from '../../cluster/queue.ts';
import { asksToStop } from '../../ralph/control.ts';
import { isWorking } from '../../ralph/view.ts';
import type { ListedChange } from '../../cluster/queue.ts';
import type { ChangeRef } from '../../store/change-ref.ts';
import { senderOf } from './queue.ts';
import { localRun, queuedChange, withProjectQueue } from './queued.ts';
import { viewOf } from './queued-status.ts';
import { refuseAgents } from '../user/refuse-agents.ts';

/**
 * Sends a text to the worker of a change, or clears the context if `text` is null. Returns what will happen; null if the
 * change is not in the queue, or is about to run on this machine.
 */
export const sendContext = async (
  url: string,
  { project, change, env }: ChangeRef,
  text: string | null,
): Promise<string | null> => {
  refuseAgents(text === null ? 'ralph --clear-context' : 'ralph --add-context');
  if ((await localRun(project, change)).isRunning) return null;
  return withProjectQueue(url, project, async (queue) => {
    const row = await queuedChange(queue, project, change);
    if (row === null) return null;
    const message = text === null ? ({ kind: 'clear-context' } as const) : ({ kind: 'context', body: text } as const);
    await sendMessage(queue.database, {
      project: queue.key,
      id: change,
      ...message,
      by: senderOf(env, hostname()),
    });
    return text === null
      ? `The context of ${change} is cleared before ${readerOf(row)}.`
      : `Added to the context of ${change}. ${capital(readerOf(row))} will read it.`;
  });
};

/** Which iteration reads what is sent now. */
const readerOf = (row: ListedChange): string => {
  const view = viewOf(row);
  if (row.state !== 'running' || row.is_silent) return 'the worker that takes it next';
  if (view === null || view.status !== 'running') return `the first iteration on ${row.host}`;
  const next = isWorking(view) ? view.iteration + 1 : view.finishedIterations + 1;
  const isLast = view.maxIterations !== null && next > view.maxIterations;
  return isLast || asksToStop(view.requested ?? null) ? 'its next run' : `iteration ${next} on ${row.host}`;
};

const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
