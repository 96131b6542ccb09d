import { hostname } from 'node:os';
import { changesToSteer, steerAll, type SteeredChange } from '../../cluster/steer-all.ts';
import type { ControlCommand } from '../../ralph/control.ts';
import { statusOfQueued } from '../../report/worker-run.ts';
import type { Project } from '../../store/project.ts';
import { pluralise } from '../../text/format.ts';
import { senderOf } from './queue.ts';
import { withProjectQueue } from './queued.ts';

export interface AllQueuedRequest {
  readonly project: Project;
  readonly env: NodeJS.ProcessEnv;
  readonly command: ControlCommand;
  /** Says what will happen, and asks on a terminal. Returns whether to do it. */
  readonly agrees: (plan: string) => Promise<boolean>;
}

/** What became of a request for all changes of a project. */
export interface AllQueuedOutcome {
  /** Sentences for the user. */
  readonly texts: readonly string[];
  /** One value for each change. */
  readonly json: readonly unknown[];
}

/**
 * Sends a request to all changes of the project that the queue has: those that workers run and those that wait for one.
 * Returns null if there is none, or if the user does not agree.
 */
export const steerAllQueued = (
  url: string,
  { project, env, command, agrees }: AllQueuedRequest,
): Promise<AllQueuedOutcome | null> =>
  withProjectQueue(url, project, async ({ database, key }) => {
    const planned = await changesToSteer(database, key, command);
    if (planned.length === 0 || !(await agrees(planText(key, planned, command)))) return null;
    const changes = await steerAll(database, { project: key, command, by: senderOf(env, hostname()) });
    return { texts: textsOf(changes, command), json: changes.map((change) => jsonOf(change, command)) };
  });

const verbs: Readonly<Record<ControlCommand, string>> = {
  stop: 'Stop',
  'stop-after-iteration': 'Stop',
  pause: 'Pause',
  resume: 'Resume',
};

/** `Stop 12 changes in the queue of github.com/acme/shop: 3 running on build-1 and build-2, 9 queued`. */
const planText = (key: string, changes: readonly SteeredChange[], command: ControlCommand): string => {
  const hosts = [...new Set(changes.flatMap(({ host }) => (host === null ? [] : [host])))].toSorted();
  const counts = (['running', 'waiting', 'paused', 'queued'] as const).flatMap((state) => {
    const count = changes.filter((change) => change.state === state).length;
    const on = state === 'running' && hosts.length > 0 ? ` on ${listed(hosts)}` : '';
    return count === 0 ? [] : [`${count} ${state}${on}`];
  });
  return `${verbs[command]} ${pluralise(changes.length, 'change')} in the queue of ${key}: ${counts.join(', ')}`;
};

const textsOf = (changes: readonly SteeredChange[], command: ControlCommand): string[] => {
  const [held, idle] = [changes.filter(({ host }) => host !== null), changes.filter(({ host }) => host === null)];
  const told = held.map(({ id, host }) => `${id} ${heldText[command]} on ${host}.`);
  if (idle.length === 0) return told;
  const ids = listed(idle.map(({ id }) => id));
  return [...told, `${idleText[command]}: ${ids}.`];
};

const heldText: Readonly<Record<ControlCommand, string>> = {
  stop: 'was told to stop now',
  'stop-after-iteration': 'was told to stop after its iteration',
  pause: 'was told to pause after its iteration',
  resume: 'was told not to pause',
};

const idleText: Readonly<Record<ControlCommand, string>> = {
  stop: 'Removed from the queue',
  'stop-after-iteration': 'Removed from the queue',
  pause: 'Paused',
  resume: 'Queued again',
};

const maxListed = 8;

/** `a, b and c`; the first ones if there are many. */
const listed = (names: readonly string[]): string => {
  const shown = names.slice(0, maxListed);
  const more = names.length - shown.length;
  if (more > 0) return `${shown.join(', ')} and ${more} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
};

const jsonOf = ({ id, state, host }: SteeredChange, command: ControlCommand) => ({
  change: id,
  outcome: host === null ? { stop: 'stopped', pause: 'paused', resume: 'resumed' }[wordOf(command)] : 'sent',
  run: null,
  iteration: null,
  status: statusOfQueued({ state }),
  state,
  host,
});

const wordOf = (command: ControlCommand): 'stop' | 'pause' | 'resume' =>
  command === 'stop-after-iteration' ? 'stop' : command;
