import { readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { isShell } from '../text/shell-names.ts';
import { descendantsOf, type Process, type Processes, readProcesses } from './process-table.ts';
import { readProc } from './start-time.ts';
import { taggedProcesses, terminateAll } from './tree.ts';

/** The processes of an agent before a turn, by ID. The start time tells whether an ID was reused. */
export interface Baseline {
  readonly processes: ReadonlyMap<number, string>;
}

export interface LeftOver {
  /** How many processes were ended. */
  readonly ended: number;
  /** New processes that are taken for helpers of the agent, such as language servers, and still run. */
  readonly kept: readonly number[];
  /**
   * Whether an ended process may have been a server of the agent: a shell that it talked to by pipes. A tool can look the
   * same, so it was ended. The agent may not start it again.
   */
  readonly mayHaveServed: boolean;
}

/**
 * Lists the agent and everything that it started so far. To be called before each turn, when the agent has answered
 * `session/new`: its servers run by then, and no tool does. Linux only; elsewhere the list is empty.
 */
export const takeBaseline = (tag: string): Baseline => {
  const all = readProcesses();
  const family = familyOf(tag, all);
  return { processes: new Map(family.map(({ pid, start }) => [pid, start])) };
};

/**
 * Ends what a turn started and left running: SIGTERM, then SIGKILL after `graceMs`. That is every new process whose
 * parents are gone, and every new child of the agent that is a shell or leads a process group, with its descendants.
 * Other new children of the agent are its own helpers, such as language and MCP servers, which are started on first use.
 * Resolves when nothing is left. Linux only.
 */
export const endLeftOver = async (tag: string, baseline: Baseline, graceMs = defaultGraceMs): Promise<LeftOver> => {
  let mayHaveServed = false;
  const find = (all: Processes) => {
    const { left, shells } = sortOut(tag, baseline, all);
    mayHaveServed ||= shells.some(talksByPipes);
    return left;
  };
  const ended = await terminateAll(untilGone(find), graceMs);
  return { ended, kept: sortOut(tag, baseline, readProcesses()).kept, mayHaveServed };
};

/** Ends those of these processes that still run, with their descendants. Linux only. */
export const endProcesses = ({ processes }: Baseline, graceMs = defaultGraceMs): Promise<number> =>
  terminateAll(
    untilGone((all) => runningOf(processes, all)),
    graceMs,
  );

const defaultGraceMs = 1000;

/**
 * Adds what was found before and still runs, with its descendants: a process without the tag is found by its parents,
 * which may be gone before it.
 */
const untilGone = (find: (all: Processes) => readonly number[]): (() => number[]) => {
  const found = new Map<number, string>();
  return () => {
    const all = readProcesses();
    const tops = [...find(all), ...runningOf(found, all)];
    const members = new Set(tops.flatMap((pid) => [pid, ...descendantsOf(pid, all)]));
    for (const pid of members) found.set(pid, all.get(pid)!.start);
    return [...members];
  };
};

/** Those that still run. The start time tells whether an ID was reused. */
const runningOf = (processes: ReadonlyMap<number, string>, all: Processes): number[] =>
  [...processes].filter(([pid, start]) => all.get(pid)?.start === start).map(([pid]) => pid);

/** Processes with the tag, and their descendants, which may have dropped it. */
const familyOf = (tag: string, all: Processes): Process[] => {
  const tagged = taggedProcesses(tag).filter((pid) => all.has(pid));
  const pids = new Set([...tagged, ...tagged.flatMap((pid) => descendantsOf(pid, all))]);
  return [...pids].map((pid) => all.get(pid)!);
};

interface NewProcesses {
  readonly left: number[];
  readonly kept: number[];
  /** Those of `left` that the agent itself started as shells in its own process group. */
  readonly shells: number[];
}

/** Divides the processes that are newer than the baseline. */
const sortOut = (tag: string, baseline: Baseline, all: Processes): NewProcesses => {
  const isOld = ({ pid, start }: Process) => baseline.processes.get(pid) === start;
  const left: number[] = [];
  const kept: number[] = [];
  const shells: number[] = [];
  for (const each of familyOf(tag, all)) {
    if (isOld(each)) continue;
    const top = newestAncestor(each, all, isOld);
    const isHelping = top !== null && isHelper(top, all);
    (isHelping ? kept : left).push(each.pid);
    if (top?.pid === each.pid && !isHelping && isInGroupOfParent(top, all)) shells.push(each.pid);
  }
  return { left, kept, shells };
};

/** Returns the new process below an old one that leads to this one; null if its parents are gone. */
const newestAncestor = (from: Process, all: Processes, isOld: (each: Process) => boolean): Process | null => {
  let at = from;
  for (let steps = 0; steps <= all.size; steps++) {
    const parent = all.get(at.parent);
    if (parent === undefined || parent.pid <= 1) return null;
    if (isOld(parent)) return at;
    at = parent;
  }
  return null;
};

/** Tools are started by a shell or in a process group of their own. */
const isHelper = (top: Process, all: Processes): boolean => isInGroupOfParent(top, all) && !startsTools(top.pid);

const isInGroupOfParent = ({ pid, parent, group }: Process, all: Processes): boolean =>
  group !== pid && group === all.get(parent)?.group;

/** Whether its input and its output are pipes or sockets, as those of a server that is spoken to on stdin. */
const talksByPipes = (pid: number): boolean =>
  [0, 1].every((file) => {
    try {
      return /^(?:pipe|socket):/.test(readlinkSync(`/proc/${pid}/fd/${file}`));
    } catch {
      return false;
    }
  });

const startsTools = (pid: number): boolean => {
  const program = programOf(pid);
  return isShell(program) || /^(?:busybox|nu|pwsh)$/.test(program);
};

/** The name of the program file: a process can change its own name. */
const programOf = (pid: number): string => {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, '');
  } catch {
    return readProc(`/proc/${pid}/comm`)?.trim() ?? '';
  }
};
