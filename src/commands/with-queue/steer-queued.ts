import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { openRequests, sendMessage, findQueued, type ListedChange, type Sent } from '../../cluster/queue.ts';
import { userError } from '../../errors.ts';
import { asksToStop, type ControlCommand } from '../../ralph/control.ts';
import { isLastIteration, isWorking, type RunView } from '../../ralph/view.ts';
import { statusOfQueued } from '../../report/worker-run.ts';
import { endPredicate, endWithReason } from '../../report/run-end.ts';
import { answerMs } from '../../store/steer.ts';
import type { Project } from '../../store/project.ts';
import { dayTime } from '../../text/format.ts';
import { commandLine } from '../../text/shell-words.ts';
import { senderOf } from './queue.ts';
import { keyOf, type ProjectQueue, queuedChange, resolveWithQueue, withProjectQueue } from './queued.ts';
import { viewOf } from './queued-status.ts';
import type { Outcome } from '../runs/outcome.ts';

/**
 * Sends a request to the worker of a change, and waits for its answer. Returns null if the change is not in the queue, or
 * if a process on this machine runs it.
 */
export const steerQueued = (
  url: string,
  { project, env, command, query, resolve }: QueuedRequest,
): Promise<Outcome | null> =>
  withProjectQueue(url, project, async (queue) => {
    const change = await resolveWithQueue(queue, query, resolve);
    const row = await queuedChange(queue, project, change);
    if (row === null) return null;
    if (command === 'resume' && row.state === 'running' && !row.is_silent) return resumeRunning(queue, row, env);
    const sent = await sendMessage(queue.database, {
      ...keyOf(queue, change),
      kind: command,
      by: senderOf(env, hostname()),
    });
    if (sent.kind === 'done') return outcomeOf(row, doneText(row, sent));
    if (sent.kind === 'nothing') throw nothingToDo(row, command);
    return outcomeOf(row, ...(await answerOf(queue, row, command)));
  });

export interface QueuedRequest {
  readonly project: Project;
  readonly env: NodeJS.ProcessEnv;
  readonly command: ControlCommand;
  /** What the user has typed, and how this checkout resolves it. */
  readonly query: string;
  readonly resolve: () => Promise<string>;
}

type Effect = readonly [name: string, text: string];

const outcomeOf = (row: ListedChange, [name, effect]: Effect, now: ListedChange = row): Outcome => ({
  text: `${row.id} ${effect}`,
  effect,
  json: {
    change: row.id,
    outcome: name,
    run: now.run,
    iteration: now.iteration,
    status: statusOfQueued(now),
    state: now.state,
    host: row.host,
  },
});

const resumeWith = ({ id }: ListedChange): string => `Resume with: ${commandLine('spool', 'resume', id)}`;

const whereOf = ({ host }: ListedChange): string => (host === null ? '' : ` on ${host}`);

/** What became of a change that no worker had. */
const doneText = (row: ListedChange, { state }: Sent & { readonly kind: 'done' }): Effect => {
  if (state === 'queued') return ['resumed', 'resumes: queued again.'];
  const before = wasText(row);
  if (state === 'paused') return ['paused', `${before}; paused. ${resumeWith(row)}`];
  return row.run === null && row.state === 'queued'
    ? ['removed', 'was removed from the queue and will not be started.']
    : ['stopped', `${before}; stopped. ${resumeWith(row)}`];
};

const wasText = (row: ListedChange): string => {
  switch (row.state) {
    case 'waiting':
      return `was waiting until ${dayTime(row.available_at, row.now)}`;
    case 'running':
      return `had a worker${whereOf(row)} that has gone silent`;
    default:
      return `was ${row.state}`;
  }
};

const nothingToDo = (row: ListedChange, command: ControlCommand) => {
  const { id, state, iteration } = row;
  if (command === 'resume' && (state === 'queued' || state === 'waiting'))
    return userError('not-running', id, `: it is ${state} and continues by itself.`);
  if (state === 'paused' || state === 'stopped')
    return userError('not-running', id, `: it is ${state}. ${resumeWith(row)}`);
  return userError(
    'not-running',
    id,
    `: its last run ${endPredicate(state)}${iteration === null ? '' : ` (iteration ${iteration})`}.`,
  );
};

/** A run on a worker does not pause: it ends after its iteration, unless the request is withdrawn before. */
const resumeRunning = async (queue: ProjectQueue, row: ListedChange, env: NodeJS.ProcessEnv): Promise<Outcome> => {
  const key = keyOf(queue, row.id);
  const view = viewOf(row);
  const now = view !== null && isWorking(view) ? `iteration ${view.iteration} is running` : 'it is running';
  const last = (await openRequests(queue.database, key)).at(-1);
  if (last === undefined || last === 'resume')
    return outcomeOf(row, ['running', `is not paused: ${now}${whereOf(row)}.`]);
  await sendMessage(queue.database, { ...key, kind: 'resume', by: senderOf(env, hostname()) });
  return outcomeOf(row, [
    'resumed',
    `continues without a ${last === 'pause' ? 'pause' : 'stop'}: ${now}${whereOf(row)}.`,
  ]);
};

const pollMs = 100;

/** Waits until the worker has done what it was asked for, or says that it will. */
const answerOf = async (
  queue: ProjectQueue,
  row: ListedChange,
  command: ControlCommand,
): Promise<readonly [Effect, ListedChange]> => {
  const deadline = performance.now() + answerMs;
  for (;;) {
    const now = (await findQueued(queue.database, keyOf(queue, row.id))) ?? row;
    if (now.state !== 'running') return [endedText(now), now];
    const view = viewOf(now);
    const isTaken = view !== null && now.epoch === row.epoch && isAnswered(command, view);
    // What is asked to stop at once may have stopped in a moment.
    if (isTaken && command !== 'stop') return [effectOf(now, command, view), now];
    if (performance.now() > deadline)
      return [isTaken ? effectOf(now, command, view) : unansweredText(now, command), now];
    await delay(pollMs);
  }
};

const isAnswered = (command: ControlCommand, { status, requested = null }: RunView): boolean =>
  status === 'running' && (command === 'stop' ? requested === 'stop' : asksToStop(requested));

const effectOf = (row: ListedChange, command: ControlCommand, view: RunView): Effect => {
  const { iteration, finishedIterations } = view;
  if (command === 'stop') return ['stopping', `is stopping the agent of iteration ${iteration}${whereOf(row)}.`];
  const when = isWorking(view) ? `after iteration ${iteration}` : `before iteration ${finishedIterations + 1}`;
  if (command === 'pause')
    return isLastIteration(view)
      ? [
          'ends',
          `does not pause: iteration ${iteration} is the last one (--max-iterations ${iteration}), and the run ends with it.`,
        ]
      : ['pauses', `pauses ${when}${whereOf(row)}, unless the run ends with it. ${resumeWith(row)}`];
  return ['stops', `stops ${when}${whereOf(row)}. To stop it now: ${commandLine('spool', 'stop', row.id, '--now')}`];
};

const endedText = (row: ListedChange): Effect => {
  const { state, detail } = row;
  if (state === 'stopped' || state === 'paused')
    return [state, `has ${state === 'paused' ? 'paused' : 'stopped'}. ${resumeWith(row)}`];
  return ['ended', `has ended: ${endWithReason(state, detail)}.`];
};

/** The request is in the queue, so it is not lost. */
const unansweredText = (row: ListedChange, command: ControlCommand): Effect => {
  const verb = command === 'pause' ? 'pause' : 'stop';
  return [
    'sent',
    `will ${verb} when its worker${whereOf(row)} responds, which it did not do within ${answerMs / 1000}s.`,
  ];
};
