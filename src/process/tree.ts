import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isThere, send, statOf } from './start-time.ts';

/**
 * The environment of a process that runs in `cwd`. Shells and some agents take PWD for the folder they are in, so it is
 * that folder; where the user was before, or started npm, is not passed on.
 */
export const environmentIn = (cwd: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const { OLDPWD: _, INIT_CWD: __, ...rest } = env;
  return { ...rest, PWD: cwd };
};

/** What to look for: the process group that an agent leads, and the variable that all its children carry. */
export interface ProcessTree {
  readonly group: number;
  readonly tag: string;
  readonly preexisting: PreexistingPids;
  /** The group is that of a sandbox, which ends when what is inside has ended, and kills it when it is asked to end. */
  readonly sandboxed?: boolean;
}

/** Processes that were there before a family, and so are not part of it, as long as their numbers cannot have been given anew. */
interface PreexistingPids {
  readonly pids: ReadonlySet<number>;
  readonly untilMs: number;
}

/** For a family that was started long ago. */
export const noPreexistingPids: PreexistingPids = { pids: new Set(), untilMs: 0 };

/** In less time no machine has started so many processes that it begins with the first number again. */
const sameNumbersMs = 500;

let lastElders: PreexistingPids = noPreexistingPids;

/** Called before the first process of a family is started: looking into every process of the machine takes time. */
export const snapshotPids = (): PreexistingPids => {
  const now = performance.now();
  if (lastElders.untilMs - now < sameNumbersMs / 2)
    lastElders = { pids: new Set(processIds()), untilMs: now + sameNumbersMs };
  return lastElders;
};

/** The variable that marks every process of an iteration, also those in sessions of their own. */
export const tagVariable = 'SPOOL_ITERATION';

/** How long a process may take to vanish after SIGKILL; only one that is not ours to kill takes longer. */
const killMs = 2000;

/** Asks every process of the family to end, and kills what has not ended when `graceMs` are over. */
export const terminateTree = (tree: ProcessTree, graceMs: number): Promise<number> =>
  endAll(
    () => treeMembers(tree),
    graceMs,
    tree.sandboxed && process.platform === 'linux'
      ? () => treeMembers(tree).filter((pid) => carries(pid, markOf(tree.tag)))
      : undefined,
  );

/** How long processes whose Spool is gone may take to end. */
const orphanGraceMs = 2000;

/** Does the same for all iterations of a run whose own Spool is gone; says how many processes there were. Linux only. */
export const terminateLeftovers = (run: string): Promise<number> => endAll(() => processesOf(run), orphanGraceMs);

/** The same, less what this process has started itself, which goes on with the run. */
export const terminateOrphans = (run: string): Promise<number> =>
  endAll(() => processesOf(run).filter((pid) => !ancestry(pid).includes(process.pid)), orphanGraceMs);

const processesOf = (run: string): number[] =>
  processIds().filter((pid) => carries(pid, Buffer.from(`\0${tagVariable}=${run}/`)));

/** A process, its parent, and so on. */
const ancestry = (pid: number): number[] => (pid > 1 ? [pid, ...ancestry(Number(statOf(pid)?.[1] ?? 0))] : []);

/**
 * Whether this process was started by an agent of a run, also one that took the variable away. The latter on Linux only,
 * and not when the agent has left its family, by a second fork with an empty environment: only a sandbox holds that.
 */
export const isInsideIteration = (): boolean => {
  const mark = Buffer.from(`\0${tagVariable}=`);
  return ancestry(process.pid).some((pid) => carries(pid, mark)) || process.env[tagVariable] !== undefined;
};

/** The name under which `endRun` finds what was started for a place; without a `/`, so that it finds nothing below it. */
export const tagForPath = (path: string): string => encodeURIComponent(path);

/** Signals a process that was started with a group of its own, and the whole group. */
export const signalGroup = (leader: number, signal: NodeJS.Signals): void =>
  void send(process.platform === 'win32' ? leader : -leader, signal);

export const killTree = (tree: ProcessTree): void => signalAll(treeMembers(tree), 'SIGKILL');

/** `asked`: who is asked to end first, when that is not everybody. */
const endAll = async (members: () => number[], graceMs: number, asked = members): Promise<number> => {
  const found = members();
  if (found.length === 0) return 0;
  signalAll(asked(), 'SIGTERM');
  if (await vanish(members, graceMs)) return found.length;
  signalAll(members(), 'SIGKILL');
  await vanish(members, killMs);
  return found.length;
};

const vanish = async (members: () => number[], limitMs: number): Promise<boolean> => {
  const deadline = performance.now() + limitMs;
  while (members().length > 0) {
    if (performance.now() > deadline) return false;
    await delay(20);
  }
  return true;
};

const signalAll = (pids: readonly number[], signal: NodeJS.Signals): void => {
  for (const pid of pids) send(pid, signal);
};

const treeMembers = ({ group, tag, preexisting }: ProcessTree): number[] => {
  const hasGroup = isThere(-group);
  if (process.platform !== 'linux') return hasGroup ? [-group] : [];
  const mark = markOf(tag);
  const known = performance.now() < preexisting.untilMs ? preexisting.pids : new Set();
  return processIds().filter((pid) => !known.has(pid) && (carries(pid, mark) || (hasGroup && isInGroup(pid, group))));
};

/** All but our own. */
const processIds = (): number[] =>
  process.platform === 'linux'
    ? readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map(Number)
        .filter((pid) => pid !== process.pid)
    : [];

const isInGroup = (pid: number, group: number): boolean => {
  const fields = statOf(pid);
  return fields !== null && Number(fields[2]) === group;
};

const markOf = (tag: string): Buffer => Buffer.from(`\0${tagVariable}=${tag}\0`);

/** Enough for the variables of nearly every process; it grows for the others. */
let variables = Buffer.alloc(64 * 1024);

/** Whether the variables of a process, each with a NUL before and behind it, hold these bytes. Looks at all processes of the machine, so it is quick. */
const carries = (pid: number, mark: Buffer): boolean => {
  let file: number;
  try {
    file = openSync(`/proc/${pid}/environ`, 'r');
  } catch {
    return false;
  }
  try {
    let length = 1;
    for (let read = -1; read !== 0; length += read) {
      if (length === variables.length) variables = Buffer.concat([variables, Buffer.alloc(variables.length)]);
      read = readSync(file, variables, length, variables.length - length, null);
    }
    return variables.subarray(0, length).includes(mark);
  } catch {
    return false;
  } finally {
    closeSync(file);
  }
};
