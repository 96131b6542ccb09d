import { closeSync, existsSync, fstatSync } from 'node:fs';
import { openSafely, readSafely, removeSafely, replaceSafely, writeAll } from '../files/safe.ts';
import { keyName, splitKey } from './deciders/parts.ts';
import { readJson } from '../files/read.ts';
import { type Goal, type GoalRequest, type Hashes, openGoal } from './goal.ts';
import {
  type Accepted,
  afterAgent,
  afterSync,
  beforeAgent,
  differencesFrom,
  emptyMemory,
  type GoalState,
  isEmpty,
  isUsers,
  type Memory,
  settle,
  type Tampering,
  withAccepted,
} from './memory.ts';
import type { Redactor } from '../secrets/redact.ts';
import { isObject, parseJson } from '../text/shape.ts';
import { guardFile, acceptedFile } from '../store/paths.ts';

export interface GuardRequest extends GoalRequest {
  /** Where the expected goal is saved between processes. */
  readonly folder: string;
  /** Whether the current version of a path was committed after the last agent of a crashed run had ended. */
  readonly committedSince?: (path: string) => Promise<boolean>;
}

/**
 * Detects an agent that changes the goal instead of reaching it: deleted or reworded tasks, edits to the proposal, the
 * design, specs, the module or settings, or to files that decide the verify commands. Edits that a user makes between
 * two iterations, or accepts, become the expected goal. Files that appear while an agent runs are its own to change until
 * a user changes them.
 */
export interface Guard {
  /** Nothing was guarded before, or only for other commands: the current version of what decides these is expected. */
  readonly isNew: boolean;
  /** What differed when the guard was opened. */
  readonly unsettled: readonly Tampering[];
  /** Short names of what is guarded, without secrets. */
  names(redactor: Redactor): string[];
  /** Whether a version of a file is the expected one, or an edit of the user since the last agent ended. */
  isExpected(key: string, bytes: Buffer | null): boolean;
  /** Called before an agent starts. */
  before(): void;
  /** Called after the agent has ended. Returns all differences. */
  after(): Tampering[];
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

/** The next guard expects the goal that it finds. */
export const forgetGoal = (folder: string): void => {
  removeSafely(guardFile(folder));
  removeSafely(acceptedFile(folder));
};

export const openGuard = async (request: GuardRequest): Promise<Guard> => {
  const { folder, commands, committedSince } = request;
  const goal = openGoal(request);
  const saved = load(folder);
  const isNew = saved === null || JSON.stringify(saved.commands) !== JSON.stringify(commands);
  let memory = saved === null ? emptyMemory(commands) : withCommands(saved, commands, goal);
  const save = (next: Memory) => {
    memory = next;
    overwrite(guardFile(folder), Buffer.from(JSON.stringify(next)));
  };
  const accept = () => {
    const accepted = takeAccepted(folder);
    if (accepted && !isEmpty(memory)) memory = withAccepted(memory, accepted);
  };
  const allNow = () => stateOf(goal, (keys) => [...keys, ...Object.keys(memory.expected), ...memory.created]);
  const differences = () => differencesNow(memory, goal);
  accept();
  if (memory.working && committedSince) memory = await withCommits(memory, goal, committedSince);

  return {
    isNew,
    unsettled: isEmpty(memory) ? [] : differencesNow(memory.working ? memory : settle(memory, allNow()), goal),
    names: goal.names,
    isExpected(key, bytes) {
      accept();
      if (!(key in memory.expected)) return true;
      const hash = goal.hashIn(key, bytes);
      return hash === memory.expected[key] || isUsers(memory, key, hash);
    },
    before() {
      accept();
      save(beforeAgent(memory, allNow()));
    },
    after() {
      if (isEmpty(memory)) return [];
      accept();
      const now = allNow();
      save(afterAgent(memory, now));
      return differencesFrom(memory, now);
    },
    check() {
      accept();
      return differences();
    },
    async acceptSync(sync) {
      const before = { differences: differences(), created: goal.hashes(memory.created) };
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

/** `hashed` returns the keys to hash, given those of the goal. */
const stateOf = (goal: Goal, hashed: (keys: readonly string[]) => Iterable<string>): GoalState => {
  const keys = goal.keys();
  return { ...tasksOf(goal), keys, hashes: goal.hashes(new Set(hashed(keys))) };
};

const differencesNow = (memory: Memory, goal: Goal): Tampering[] =>
  differencesFrom(memory, { ...tasksOf(goal), hashes: goal.hashes(Object.keys(memory.expected)) });

const tasksOf = ({ tasksKey, taskTitles }: Goal) => ({ tasksKey, taskTitles });

/** Saves the current goal as the expected one and returns what differed. */
export const acceptGoal = (request: GuardRequest): Tampering[] => {
  const { folder, commands } = request;
  const goal = openGoal(request);
  // Twice, because a run may be writing the file.
  const saved = load(folder) ?? load(folder);
  if (saved === null) return [];
  const memory = withCommands(saved, commands, goal);
  const differences = differencesNow(memory, goal);
  if (differences.length === 0) return [];
  const keys = goal.keys().filter((key) => !memory.created.includes(key));
  const expected = goal.hashes(new Set([...keys, ...Object.keys(memory.expected)]));
  const accepted: Accepted = { expected, expectedTasks: goal.taskTitles() };
  replaceSafely(acceptedFile(folder), JSON.stringify(accepted));
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
  if (JSON.stringify(memory.commands) === JSON.stringify(commands)) return memory;
  const wanted = new Set(goal.keys());
  const only = (hashes: Hashes): Hashes =>
    Object.fromEntries(Object.entries(hashes).filter(([key]) => wanted.has(key) || !goal.isDecider(key)));
  const created = memory.created.filter((key) => !goal.isDecider(key));
  const added = goal.hashes([...wanted].filter((key) => goal.isDecider(key) && !(key in memory.expected)));
  const expected = { ...only(memory.expected), ...added };
  return { ...memory, commands, expected, seen: { ...only(memory.seen), ...added }, created };
};

const withCommits = async (
  memory: Memory,
  goal: Goal,
  committedSince: (path: string) => Promise<boolean>,
): Promise<Memory> => {
  const differences = differencesNow(memory, goal);
  const expected: Record<string, string | null> = { ...memory.expected };
  let { expectedTasks } = memory;
  for (const each of differences) {
    if (each.kind === 'task') continue;
    if (await committedSince(splitKey(each.key).path)) expected[each.key] = goal.hashes([each.key])[each.key] ?? null;
  }
  if (differences.some(({ kind }) => kind === 'task') && (await committedSince(goal.tasksKey)))
    expectedTasks = goal.taskTitles();
  return { ...memory, expected, expectedTasks };
};

/**
 * Overwrites in place: this happens twice per iteration, a new file takes five times as long, and only the owner of the
 * lock writes this one. Blanks cover the rest of a longer text, so that a reader never sees that rest.
 */
const overwrite = (file: string, bytes: Buffer): void => {
  const descriptor = openSafely(file, 'update');
  try {
    const blanks = Math.max(0, fstatSync(descriptor).size - bytes.length);
    writeAll(descriptor, Buffer.concat([bytes, Buffer.alloc(blanks, ' ')]));
  } finally {
    closeSync(descriptor);
  }
};

const load = (folder: string): Memory | null => {
  const memory = readJson(guardFile(folder)) as Memory | null | undefined;
  const whole = isObject(memory?.seen) && Array.isArray(memory.commands) && isAccepted(memory);
  if (!whole || memory.v !== 2) return null;
  return { ...memory, created: Array.isArray(memory.created) ? memory.created : [] };
};

const takeAccepted = (folder: string): Accepted | null => {
  if (!existsSync(acceptedFile(folder))) return null;
  try {
    const accepted = parseJson(readSafely(acceptedFile(folder))?.toString('utf8') ?? '');
    removeSafely(acceptedFile(folder));
    return isAccepted(accepted) ? accepted : null;
  } catch {
    return null;
  }
};

const isAccepted = (value: unknown): value is Accepted =>
  isObject(value) && isObject(value.expected) && Array.isArray(value.expectedTasks);
