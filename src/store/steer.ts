import { currentEnvironment } from '../files/environment.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { asksToStop, type ControlCommand } from '../ralph/control.ts';
import { isWorking, type RunView } from '../ralph/view.ts';
import { requestControl, type RequestOptions } from './control.ts';
import { endLeftovers } from './leftovers.ts';
import type { LockOwner } from './lock-owner.ts';
import type { Project } from './project.ts';
import { removeFromQueue } from './batch-queue.ts';
import { loopOwner, queuedBy, readState } from './state.ts';
import { asRecorded } from './user-state/steps.ts';
import { userStateFolder } from './user-state/folder.ts';

/** What became of a request. */
export type Answer =
  | { readonly kind: 'not-running'; readonly view: RunView | null }
  /** The change was in the queue of a batch, which will not start it. */
  | { readonly kind: 'removed'; readonly by: LockOwner }
  /** The change is in the queue of a batch, and only a request to stop it applies to it. */
  | { readonly kind: 'queued'; readonly by: LockOwner }
  /** The process of the run was killed. What was left of it has been ended, for a request to stop it. */
  | { readonly kind: 'cleaned-up'; readonly view: RunView; readonly ended: number }
  /** The run has taken it. `view` says what will happen, `before` what the run did when it was asked. */
  | { readonly kind: 'taken'; readonly before: RunView | null; readonly view: RunView }
  /** The run has taken it, and a later request as well, which took it back. */
  | { readonly kind: 'overtaken'; readonly view: RunView }
  /** The run has ended in the meantime, maybe because of the request. */
  | { readonly kind: 'ended'; readonly view: RunView | null }
  /** The run is still setting up its workspace. It takes the request when it has started. */
  | { readonly kind: 'starting' }
  /** The run is asked to pause, and only the user who runs it can change that before it does. */
  | { readonly kind: 'refused'; readonly view: RunView }
  /** The run does not respond. It takes the request when it does. */
  | { readonly kind: 'silent'; readonly owner: LockOwner };

/** How long a run may take to answer. It looks for requests four times a second. */
export const answerMs = 3000;
const pollMs = 50;

/** Asks the run of a change to do something, in any process that shares the folder, and waits for its answer. */
export const steer = async (
  project: Project,
  change: string,
  command: ControlCommand,
  options: RequestOptions = {},
): Promise<Answer> => {
  const { env = currentEnvironment(), id = crypto.randomUUID() } = options;
  const read = async (): Promise<RunView | null> => {
    const saved = await readState(project, change);
    return saved && asRecorded(userStateFolder(project, change, env), saved);
  };
  const queue = queuedBy(project, change);
  if (queue !== null && loopOwner(project, change) === null) {
    if (!asksToStop(command)) return { kind: 'queued', by: queue };
    if (removeFromQueue(project, change) !== null) return { kind: 'removed', by: queue };
    await appears(() => loopOwner(project, change));
  }
  const owner = loopOwner(project, change);
  const before = await read();
  if (owner === null || requestControl(project, change, command, { ...options, id }) === 'not-running')
    return withoutRun(project, command, before);
  const deadline = performance.now() + answerMs;
  for (;;) {
    const isRunning = loopOwner(project, change)?.id === owner.id;
    const view = await read();
    if (!isRunning) return { kind: 'ended', view };
    const isStarted = view !== null && view.updatedAt >= owner.since;
    if (isStarted && isFinal(command, view)) return { kind: 'taken', before, view };
    if (isStarted && isOvertaken(id, command, view)) return { kind: 'overtaken', view };
    if (performance.now() < deadline) {
      await delay(pollMs);
      continue;
    }
    if (!isStarted) return { kind: 'starting' };
    if (isTaken(command, view)) return { kind: 'taken', before, view };
    return command === 'resume' && isWorking(view) ? { kind: 'refused', view } : { kind: 'silent', owner };
  }
};

/** Waits until there is a value. */
const appears = async (read: () => unknown): Promise<void> => {
  const deadline = performance.now() + answerMs;
  while (read() === null && performance.now() < deadline) await delay(pollMs);
};

const withoutRun = async (project: Project, command: ControlCommand, view: RunView | null): Promise<Answer> => {
  const ended = view !== null && asksToStop(command) ? await endLeftovers(project, view) : 0;
  return view !== null && ended > 0 ? { kind: 'cleaned-up', view, ended } : { kind: 'not-running', view };
};

/** Whether a run does what it was asked for, or something stronger. */
const isTaken = (command: ControlCommand, { requested = null, pausedAt }: RunView): boolean => {
  switch (command) {
    case 'stop':
      return requested === 'stop';
    case 'stop-after-iteration':
      return asksToStop(requested);
    case 'pause':
      return requested !== null;
    case 'resume':
      return requested !== 'pause' && !pausedAt;
  }
};

/** Whether a later request took back what the run had taken. A stop is final. */
const isOvertaken = (id: string, command: ControlCommand, view: RunView): boolean => {
  const { status, requests = [], requested = null, pausedAt } = view;
  if (status !== 'running' || !requests.includes(id)) return false;
  return command === 'pause' ? requested === null && !pausedAt : command === 'resume' && requested === 'pause';
};

/** Whether nothing more will happen soon: a stop ends a run at once if no agent is working. */
const isFinal = (command: ControlCommand, view: RunView): boolean => {
  if (!isTaken(command, view) || command === 'stop') return false;
  return command === 'resume' || isWorking(view) || Boolean(view.pausedAt && !asksToStop(view.requested ?? null));
};
