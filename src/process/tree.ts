import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { currentScope, perScope } from './scope.ts';
import { isAlive, sendSignal, statOf } from './start-time.ts';

/** Identifies an agent and its descendants: by their process group, and by a variable in their environment. */
export interface ProcessTree {
  readonly group: number;
  readonly tag: string;
  readonly preexisting: PreexistingPids;
  /** The group leader is a sandbox. It exits after the processes inside, and kills them on SIGTERM. */
  readonly sandboxed?: boolean;
}

/**
 * Processes that are older than a tree, and so not part of it. Valid until `untilMs`, when ids may have been reused.
 */
interface PreexistingPids {
  readonly pids: ReadonlySet<number>;
  readonly untilMs: number;
}

/** For a tree that was started long ago. */
export const noPreexistingPids: PreexistingPids = { pids: new Set(), untilMs: 0 };

/** Too short for a machine to run through all process ids and reuse one. */
const pidReuseMs = 500;

const snapshotOfRun = perScope(() => ({ last: noPreexistingPids }));

/**
 * Lists the processes that exist before a tree is started. Cached, because reading all processes of the machine takes
 * time.
 */
export const snapshotPids = (): PreexistingPids => {
  const now = performance.now();
  const snapshot = snapshotOfRun();
  if (snapshot.last.untilMs - now < pidReuseMs / 2)
    snapshot.last = { pids: new Set(processIds()), untilMs: now + pidReuseMs };
  return snapshot.last;
};

/** The variable that marks every process of an iteration, including those in other process groups. */
export const tagVariable = 'SPOOL_ITERATION';

/** How long to wait after SIGKILL. Only a process that we may not kill takes longer. */
const killWaitMs = 2000;

/** Terminates every process of the tree, and kills those that are left after `graceMs`. Returns how many there were. */
export const terminateTree = (tree: ProcessTree, graceMs: number): Promise<number> =>
  terminateAll(
    () => treeMembers(tree),
    graceMs,
    tree.sandboxed && process.platform === 'linux'
      ? () => treeMembers(tree).filter((pid) => environmentIncludes(pid, markOf(tree.tag)))
      : undefined,
  );

/** How long processes whose Spool is gone may take to exit. */
const orphanGraceMs = 2000;

/** Terminates the processes of all iterations of a run whose Spool is gone. Returns how many there were. Linux only. */
export const terminateLeftovers = (run: string): Promise<number> => terminateAll(() => processesOf(run), orphanGraceMs);

/** Does the same, except for processes that this process started: it resumes the run. */
export const terminateOrphans = (run: string): Promise<number> =>
  terminateAll(() => processesOf(run).filter((pid) => !ancestry(pid).includes(process.pid)), orphanGraceMs);

/** Returns the processes of all iterations of a run. Linux only. */
export const processesOf = (run: string): number[] =>
  processIds().filter((pid) => environmentIncludes(pid, Buffer.from(`\0${tagVariable}=${run}/`)));

/** Returns the processes with exactly this tag. Linux only. */
export const taggedProcesses = (tag: string): number[] => {
  const mark = markOf(tag);
  return processIds().filter((pid) => environmentIncludes(pid, mark));
};

/** Returns the process and its ancestors. */
const ancestry = (pid: number): number[] => (pid > 1 ? [pid, ...ancestry(Number(statOf(pid)?.[1] ?? 0))] : []);

/**
 * Returns whether this process was started by an agent of a run. On Linux, ancestors are checked as well, in case the
 * agent removed the variable. An agent that double-forks with an empty environment is not detected: that takes a sandbox.
 */
export const isInsideIteration = (): boolean => {
  const mark = Buffer.from(`\0${tagVariable}=`);
  return (
    ancestry(process.pid).some((pid) => environmentIncludes(pid, mark)) || currentScope().env[tagVariable] !== undefined
  );
};

/**
 * Returns the tag by which `terminateLeftovers` finds what was started for a path. Without `/`, so it does not match
 * paths below it.
 */
export const tagForPath = (path: string): string => encodeURIComponent(path);

/** Signals a process that leads its own group, and the whole group. */
export const signalGroup = (leader: number, signal: NodeJS.Signals): void =>
  void sendSignal(process.platform === 'win32' ? leader : -leader, signal);

export const killTree = (tree: ProcessTree): void => signalAll(treeMembers(tree), 'SIGKILL');

/**
 * Sends SIGTERM to `askedFirst`, and SIGKILL to all members that are left after `graceMs`, including those that are
 * started meanwhile. Returns how many there were at first.
 */
export const terminateAll = async (members: () => number[], graceMs: number, askedFirst = members): Promise<number> => {
  const found = members();
  if (found.length === 0) return 0;
  signalAll(askedFirst(), 'SIGTERM');
  if (await waitUntilGone(members, graceMs)) return found.length;
  await waitUntilGone(members, killWaitMs, 'SIGKILL');
  return found.length;
};

/** Sends a signal, if one is given, each time it finds members. */
const waitUntilGone = async (
  members: () => number[],
  limitMs: number,
  signal: NodeJS.Signals | null = null,
): Promise<boolean> => {
  const deadline = performance.now() + limitMs;
  for (let found = members(); found.length > 0; found = members()) {
    if (signal !== null) signalAll(found, signal);
    if (performance.now() > deadline) return false;
    await delay(20);
  }
  return true;
};

const signalAll = (pids: readonly number[], signal: NodeJS.Signals): void => {
  for (const pid of pids) sendSignal(pid, signal);
};

const treeMembers = ({ group, tag, preexisting }: ProcessTree): number[] => {
  const hasGroup = isAlive(-group);
  if (process.platform !== 'linux') return hasGroup ? [-group] : [];
  const mark = markOf(tag);
  const known = performance.now() < preexisting.untilMs ? preexisting.pids : new Set();
  return processIds().filter(
    (pid) => !known.has(pid) && (environmentIncludes(pid, mark) || (hasGroup && isInGroup(pid, group))),
  );
};

/** Returns all process ids except our own; none outside of Linux. */
export const processIds = (): number[] =>
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

/** Large enough for most environments; grows if necessary. */
const environBufferOfRun = perScope(() => ({ bytes: Buffer.alloc(64 * 1024) }));

/**
 * Returns whether the environment of a process contains `mark`. Each variable has a NUL before and after it. Called for
 * every process of the machine, so it has to be fast.
 */
const environmentIncludes = (pid: number, mark: Buffer): boolean => {
  let file: number;
  try {
    file = openSync(`/proc/${pid}/environ`, 'r');
  } catch {
    return false;
  }
  const buffer = environBufferOfRun();
  try {
    let length = 1;
    for (let read = -1; read !== 0; length += read) {
      if (length === buffer.bytes.length)
        buffer.bytes = Buffer.concat([buffer.bytes, Buffer.alloc(buffer.bytes.length)]);
      read = readSync(file, buffer.bytes, length, buffer.bytes.length - length, null);
    }
    return buffer.bytes.subarray(0, length).includes(mark);
  } catch {
    return false;
  } finally {
    closeSync(file);
  }
};
