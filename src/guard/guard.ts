import { keyName, splitKey } from './deciders/parts.ts';
import { type Goal, type GoalRequest, type Hashes, openGoal } from './goal.ts';
import {
  afterAgent,
  afterSync,
  beforeAgent,
  differencesFrom,
  emptyMemory,
  expectTasks,
  type GoalState,
  isEmpty,
  isUsers,
  movedTasks,
  type Memory,
  newOpenParents,
  expectEdits,
  type Tampering,
  withAccepted,
  withTasksOf,
} from './memory.ts';
import { loadMemory, readAccepted, saveAccepted, saveMemory, takeAccepted } from './saved-memory.ts';
import { checkOnce } from '../files/checks.ts';
import type { Redactor } from '../secrets/redact.ts';

export interface GuardRequest extends GoalRequest {
  /** Where the expected goal is saved between processes. */
  readonly folder: string;
  /** Whether the current version of a path was committed after the last agent of a crashed run had ended. */
  readonly committedSince?: (path: string) => Promise<boolean>;
}

/**
 * Detects an agent that changes the goal instead of reaching it: deleted or reworded tasks, edits to the proposal, the
 * design, specs, the module or settings, or to files that decide the verify commands. Edits that a user makes between
 * two iterations, or accepts, become the expected goal. Files that appear while an agent runs are its own to change
 * until a user changes them.
 */
export interface Guard {
  /** Nothing was guarded before, or only for other commands: the current version of what decides these is expected. */
  readonly isNew: boolean;
  /** What differed when the guard was opened. */
  readonly unaccepted: readonly Tampering[];
  /** Short names of what is guarded, without secrets. */
  names(redactor: Redactor): string[];
  /** Whether a version of a file is the expected one, or an edit of the user since the last agent ended. */
  isExpected(key: string, bytes: Buffer | null): boolean;
  /** Expects what the user has edited since the last agent ended. Called before an agent starts, or a gate is repeated. */
  acceptEdits(): void;
  /** Called after the agent has ended: later edits are the user's. Returns all differences. */
  agentEnded(): Tampering[];
  /** The titles of open tasks that are not counted because an agent has moved them, or added others below them. */
  uncountedTasks(): string[];
  /** Called before each verify command. Returns all differences without saving anything. */
  check(): Tampering[];
  /** Expects the edits of the user that `sync` brings in. Differences from before remain. */
  acceptSync<Synced extends { readonly taken: readonly string[] }>(sync: () => Promise<Synced>): Promise<Synced>;
  /** What a version of the file must have to undo a difference. */
  expects(difference: Tampering): Expectation;
}

export type Expectation =
  | { readonly kind: 'hash'; readonly key: string; readonly hash: string | null }
  | { readonly kind: 'tasks'; readonly key: string; readonly titles: readonly string[] };

export const openGuard = async (request: GuardRequest): Promise<Guard> => {
  const { folder, commands, committedSince } = request;
  const goal = openGoal(request);
  const saved = loadMemory(folder);
  const known = saved === null ? emptyMemory(commands) : withTasksOf(withCommands(saved, commands, goal), goal);
  const opened = acceptedIn(folder, known);
  const memory = opened.working && committedSince ? await withCommits(opened, goal, committedSince) : opened;
  return {
    isNew: saved === null || !isSameList(saved.commands, commands),
    unaccepted: unacceptedIn(memory, goal),
    names: goal.names,
    ...watchGoal(goal, folder, memory),
  };
};

/** Compares the goal with the memory, and saves the memory whenever it changes. */
const watchGoal = (goal: Goal, folder: string, opened: Memory): Omit<Guard, 'isNew' | 'unaccepted' | 'names'> => {
  let memory = opened;
  const accept = () => {
    memory = acceptedIn(folder, memory);
  };
  const save = (next: Memory) => {
    memory = next;
    saveMemory(folder, next);
  };
  return {
    isExpected(key, bytes) {
      accept();
      if (!(key in memory.expected)) return true;
      const hash = goal.hashIn(key, bytes);
      return hash === memory.expected[key] || isUsers(memory, key, hash);
    },
    acceptEdits() {
      accept();
      save(beforeAgent(memory, wholeState(goal, memory)));
    },
    agentEnded() {
      if (isEmpty(memory)) return [];
      accept();
      const now = wholeState(goal, memory);
      save(afterAgent(memory, now));
      return differencesFrom(memory, now);
    },
    uncountedTasks: () =>
      isEmpty(memory)
        ? []
        : [...newOpenParents(memory, goal.parentTasks()), ...movedTasks(memory, goal.taskTitles(), goal.openBoxes())],
    check() {
      accept();
      return differencesNow(memory, goal);
    },
    async acceptSync(sync) {
      const before = { differences: differencesNow(memory, goal), created: goal.hashes(memory.created) };
      const synced = await sync();
      const taken = new Set(synced.taken);
      if (isEmpty(memory) || taken.size === 0) return synced;
      const isTaken = (key: string) => taken.has(splitKey(key).path);
      const now = stateOf(goal, (keys) => [...keys, ...Object.keys(memory.expected)].filter(isTaken));
      save(afterSync(memory, now, { ...before, taken }));
      return synced;
    },
    expects: (difference) =>
      difference.kind === 'task'
        ? { kind: 'tasks', key: goal.tasksKey, titles: memory.expectedTasks }
        : { kind: 'hash', key: difference.key, hash: memory.expected[difference.key] ?? null },
  };
};

/** Adds what the user has accepted since. Without a memory, the goal that the first agent finds is expected anyway. */
const acceptedIn = (folder: string, memory: Memory): Memory => {
  const accepted = takeAccepted(folder);
  return accepted && !isEmpty(memory) ? withAccepted(memory, accepted) : memory;
};

/** Edits since the last agent ended are those of the user, unless Spool was killed before it ended. */
const unacceptedIn = (memory: Memory, goal: Goal): Tampering[] => {
  if (isEmpty(memory)) return [];
  return differencesNow(memory.working ? memory : expectEdits(memory, wholeState(goal, memory)), goal);
};

const wholeState = (goal: Goal, { expected, created }: Memory): GoalState =>
  stateOf(goal, (keys) => [...keys, ...Object.keys(expected), ...created]);

/** `hashed` returns the keys to hash, given those of the goal. */
const stateOf = (goal: Goal, hashed: (keys: readonly string[]) => Iterable<string>): GoalState =>
  checkOnce(() => {
    const listed = goal.keys();
    return { ...tasksOf(goal), ...listed, hashes: goal.hashes(new Set(hashed(listed.keys))) };
  });

const differencesNow = (memory: Memory, goal: Goal): Tampering[] =>
  differencesFrom(memory, { ...tasksOf(goal), hashes: goal.hashes(Object.keys(memory.expected)) });

const tasksOf = ({ tasksKey, taskTitles, parentTasks }: Goal) => ({ tasksKey, taskTitles, parentTasks });

/**
 * Returns what an agent has changed in the documents of a change, as far as it was neither restored nor accepted. Changes
 * nothing.
 */
export const unacceptedDocuments = (request: GuardRequest): Tampering[] => {
  const saved = loadMemory(request.folder);
  if (saved === null) return [];
  const goal = openGoal(request);
  const accepted = readAccepted(request.folder);
  const known = withTasksOf(saved, goal);
  const differences = unacceptedIn(accepted === null ? known : withAccepted(known, accepted), goal);
  return differences.filter((each) => each.kind === 'task' || !goal.isDecider(each.key));
};

/** Saves the current goal as the expected one and returns what differed. */
export const acceptGoal = (request: GuardRequest): Tampering[] => {
  const { folder, commands } = request;
  const goal = openGoal(request);
  // Twice, because a run may be writing the file.
  const saved = loadMemory(folder) ?? loadMemory(folder);
  if (saved === null) return [];
  const memory = withTasksOf(withCommands(saved, commands, goal), goal);
  const differences = differencesNow(memory, goal);
  if (differences.length === 0) return [];
  const keys = goal.keys().keys.filter((key) => !memory.created.includes(key));
  const expected = goal.hashes(new Set([...keys, ...Object.keys(memory.expected)]));
  saveAccepted(folder, { expected, ...expectTasks(goal) });
  return differences;
};

/** One line, without secrets. */
export const describeTampering = (tampering: Tampering, redactor: Redactor): string => {
  switch (tampering.kind) {
    case 'task':
      return `the task "${redactor.oneLine(tampering.title, maxTitleLength)}" was deleted or reworded instead of ticked`;
    case 'changed':
    case 'deleted':
    case 'added':
      return `${redactor.text(keyName(tampering.key))} was ${tampering.kind}`;
  }
};

const maxTitleLength = 80;

/** For other commands than before, the current version of what decides them is expected. */
const withCommands = (memory: Memory, commands: readonly string[], goal: Goal): Memory => {
  if (isSameList(memory.commands, commands)) return memory;
  const wanted = new Set(goal.keys().keys);
  const only = (hashes: Hashes): Hashes =>
    Object.fromEntries(Object.entries(hashes).filter(([key]) => wanted.has(key) || !goal.isDecider(key)));
  const created = memory.created.filter((key) => !goal.isDecider(key));
  const added = goal.hashes([...wanted].filter((key) => goal.isDecider(key) && !(key in memory.expected)));
  const expected = { ...only(memory.expected), ...added };
  return { ...memory, commands, expected, seen: { ...only(memory.seen), ...added }, created };
};

const isSameList = (one: readonly string[], other: readonly string[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** Expects what the user has committed since the last agent of a crashed run. */
const withCommits = async (
  memory: Memory,
  goal: Goal,
  committedSince: (path: string) => Promise<boolean>,
): Promise<Memory> => {
  const differences = differencesNow(memory, goal);
  const expected: Record<string, string | null> = { ...memory.expected };
  let tasks = {};
  for (const each of differences) {
    if (each.kind === 'task') continue;
    if (await committedSince(splitKey(each.key).path)) expected[each.key] = goal.hashes([each.key])[each.key] ?? null;
  }
  if (differences.some(({ kind }) => kind === 'task') && (await committedSince(goal.tasksKey)))
    tasks = expectTasks(goal);
  return { ...memory, expected, ...tasks };
};
