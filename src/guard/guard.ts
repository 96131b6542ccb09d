import { closeSync, existsSync, fstatSync } from 'node:fs';
import { join } from 'node:path';
import { openOwn, readOwn, removeOwn, replaceOwn, writeAll } from '../files/own.ts';
import { keyName, splitKey } from './deciders/parts.ts';
import { readIfThere } from '../files/read.ts';
import { type Goal, type GoalRequest, type Hashes, openGoal } from './goal.ts';
import { parseJson } from '../text/shape.ts';
import { missingTasks } from '../changes/tasks.ts';

export interface GuardRequest extends GoalRequest {
  /** Where it is kept what the goal should be, so that it outlives this process. */
  readonly folder: string;
  /** Whether what is at a path now was committed when no agent of the run that was cut off was there any more. */
  readonly committedSince?: (path: string) => Promise<boolean>;
}

/** Something of the goal that is not as it should be. */
export type Tampering =
  | { readonly kind: 'changed' | 'deleted' | 'added'; readonly key: string }
  | { readonly kind: 'task'; readonly title: string };

/**
 * Sees when the goal is moved instead of reached: tasks deleted or reworded, the proposal, design, scenarios, module or
 * settings changed, or what decides the verify commands. What a person changes between two iterations, or accepts, is
 * as it should be. What first appeared while an agent worked is its own to change, until a person changes it.
 */
export interface Guard {
  /** Nothing was guarded before, or for other commands: what decides these is taken as it is. */
  readonly isNew: boolean;
  /** What was not as it should be when it was opened. */
  readonly unsettled: readonly Tampering[];
  /** Short names of what is guarded. */
  names(): string[];
  /** Whether a version of a file is what it should be, or what a person has left since the last agent ended. */
  isExpected(key: string, bytes: Buffer | null): boolean;
  /** Called before an agent starts. */
  before(): void;
  /** Called when it has ended: all that is not as it should be. */
  after(): Tampering[];
  /** The same while the work is verified, right before each command: nothing is written down. */
  look(): Tampering[];
  /** Lets a person's edits in, which come as files; what was not as it should be before stays so. */
  takeOver<Brought extends { readonly taken: readonly string[] }>(bringIn: () => Promise<Brought>): Promise<Brought>;
  /** Whether a version of the goal is the one that is expected: hashes of a key, or titles of tasks. */
  expects(moved: Tampering): Expectation;
}

/** What a version of a file must have to be put back. */
export type Expectation =
  | { readonly kind: 'hash'; readonly key: string; readonly hash: string | null }
  | { readonly kind: 'tasks'; readonly key: string; readonly titles: readonly string[] };

interface Memory {
  readonly v: 2;
  /** An agent is at work, or was when its Spool was killed: what has changed since may be its doing. */
  readonly working: boolean;
  readonly commands: readonly string[];
  readonly expected: Hashes;
  readonly seen: Hashes;
  readonly expectedTasks: readonly string[];
  /** Keys of what agents have created. */
  readonly created: readonly string[];
}

/** What a person has accepted as the goal. */
type Accepted = Pick<Memory, 'expected' | 'expectedTasks'>;

const guardFile = (folder: string) => join(folder, 'guard.json');
const acceptedFile = (folder: string) => join(folder, 'accepted.json');

/** The goal may be anything again. */
export const forgetGoal = (folder: string): void => {
  removeOwn(guardFile(folder));
  removeOwn(acceptedFile(folder));
};

export const openGuard = async (request: GuardRequest): Promise<Guard> => {
  const { folder, commands } = request;
  const goal = await openGoal(request);
  const before = await load(folder);
  const isNew = before === null || JSON.stringify(before.commands) !== JSON.stringify(commands);
  let memory = withCommands(before, commands, goal);
  const keep = (next: Memory) => {
    memory = next;
    overwrite(guardFile(folder), Buffer.from(JSON.stringify(next)));
  };
  const accept = () => {
    const accepted = takeAccepted(folder);
    if (!accepted || !memory) return;
    memory = {
      ...memory,
      expected: { ...memory.expected, ...accepted.expected },
      expectedTasks: accepted.expectedTasks,
    };
  };
  accept();
  if (memory?.working && request.committedSince) memory = await withCommits(memory, goal, request.committedSince);

  const isPersons = (key: string, now: Hashes) =>
    !memory || !(key in memory.seen) || (!memory.working && memory.seen[key] !== now[key]);

  /** The goal as it should be, now that no agent is there. */
  const settled = (working: boolean): Memory => {
    accept();
    const keys = new Set([...goal.keys(), ...Object.keys(memory?.expected ?? {}), ...(memory?.created ?? [])]);
    const now = goal.hashes(keys);
    const isKnown = (key: string) => memory !== null && (key in memory.seen || key in memory.expected);
    const before = new Set(memory?.created);
    const created = [...keys].filter((key) =>
      before.has(key) ? !isPersons(key, now) : memory?.working && !isKnown(key),
    );
    const isAgents = new Set(created);
    const guarded = [...keys].filter((key) => !isAgents.has(key));
    const expected = Object.fromEntries(
      guarded.map((key) => [key, isPersons(key, now) ? now[key]! : memory!.expected[key]!]),
    );
    const expectedTasks = isPersons(goal.tasksKey, now) ? goal.taskTitles() : memory!.expectedTasks;
    return { v: 2, working, commands, expected, seen: now, expectedTasks, created };
  };

  return {
    isNew,
    unsettled: memory ? movedSince(memory.working ? memory : settled(false), goal) : [],
    names: goal.names,
    isExpected(key, bytes) {
      accept();
      if (!memory || !(key in memory.expected)) return true;
      const hash = goal.hashIn(key, bytes);
      return hash === memory.expected[key] || isPersons(key, { [key]: hash });
    },
    before: () => keep(settled(true)),
    after() {
      if (!memory) return [];
      accept();
      const { expected } = memory;
      const appeared = goal.keys().filter((key) => !(key in expected));
      const created = [...new Set([...memory.created, ...appeared])];
      const seen = goal.hashes([...Object.keys(expected), ...created]);
      keep({ ...memory, working: false, seen, created });
      return movedSince(memory, goal, seen);
    },
    look() {
      accept();
      return memory ? movedSince(memory, goal) : [];
    },
    async takeOver(bringIn) {
      const before = memory && movedSince(memory, goal);
      const createdBefore = goal.hashes(memory?.created ?? []);
      const brought = await bringIn();
      const taken = new Set(brought.taken);
      if (!memory || !before || taken.size === 0) return brought;
      const isMoved = (key: string) => before.some((each) => each.kind !== 'task' && each.key === key);
      const keys = [...new Set([...goal.keys(), ...Object.keys(memory.expected)])].filter((key) =>
        taken.has(splitKey(key).path),
      );
      const now = goal.hashes(keys);
      const created = memory.created.filter((key) => !(key in now) || now[key] === createdBefore[key]);
      const clean = Object.fromEntries(Object.entries(now).filter(([key]) => !isMoved(key) && !created.includes(key)));
      const tasksAreClean = taken.has(goal.tasksKey) && before.every(({ kind }) => kind !== 'task');
      keep({
        ...memory,
        expected: { ...memory.expected, ...clean },
        seen: { ...memory.seen, ...now },
        expectedTasks: tasksAreClean ? goal.taskTitles() : memory.expectedTasks,
        created,
      });
      return brought;
    },
    expects: (moved) =>
      moved.kind === 'task'
        ? { kind: 'tasks', key: goal.tasksKey, titles: memory?.expectedTasks ?? [] }
        : { kind: 'hash', key: moved.key, hash: memory?.expected[moved.key] ?? null },
  };
};

/** Records the goal as it is now as the one that is meant; answers with what has changed. */
export const acceptGoal = async (request: GuardRequest): Promise<Tampering[]> => {
  const { folder, commands } = request;
  const goal = await openGoal(request);
  // A loop that runs may be writing it just now.
  const memory = withCommands((await load(folder)) ?? (await load(folder)), commands, goal);
  const moved = memory ? movedSince(memory, goal) : [];
  if (!memory || moved.length === 0) return [];
  const keys = goal.keys().filter((key) => !memory.created.includes(key));
  const expected = goal.hashes(new Set([...keys, ...Object.keys(memory.expected)]));
  const accepted: Accepted = { expected, expectedTasks: goal.taskTitles() };
  replaceOwn(acceptedFile(folder), JSON.stringify(accepted));
  return moved;
};

/** In one line each. */
export const describeTampering = (moved: Tampering): string => {
  switch (moved.kind) {
    case 'task':
      return `the task "${shorten(moved.title)}" was deleted or reworded instead of ticked`;
    case 'changed':
    case 'deleted':
    case 'added':
      return `${keyName(moved.key)} was ${moved.kind}`;
  }
};

const shorten = (title: string) => (title.length > 80 ? `${title.slice(0, 79)}…` : title);

const movedSince = (
  { expected, expectedTasks }: Memory,
  goal: Goal,
  now: Hashes = goal.hashes(Object.keys(expected)),
): Tampering[] => {
  const changed = Object.keys(expected)
    .filter((key) => key !== goal.tasksKey && now[key] !== expected[key])
    .map((key): Tampering => ({
      kind: expected[key] === null ? 'added' : now[key] === null ? 'deleted' : 'changed',
      key,
    }));
  const missing = missingTasks(expectedTasks, goal.taskTitles());
  return [...changed, ...missing.map((title): Tampering => ({ kind: 'task', title }))];
};

/** What decides other commands than those before is not held against anybody, and is guarded as it is now. */
const withCommands = (memory: Memory | null, commands: readonly string[], goal: Goal): Memory | null => {
  if (memory === null || JSON.stringify(memory.commands) === JSON.stringify(commands)) return memory;
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
  const moved = movedSince(memory, goal);
  const expected: Record<string, string | null> = { ...memory.expected };
  let { expectedTasks } = memory;
  for (const each of moved) {
    if (each.kind === 'task') continue;
    if (await committedSince(splitKey(each.key).path)) expected[each.key] = goal.hashes([each.key])[each.key] ?? null;
  }
  if (moved.some(({ kind }) => kind === 'task') && (await committedSince(goal.tasksKey)))
    expectedTasks = goal.taskTitles();
  return { ...memory, expected, expectedTasks };
};

/**
 * In place, twice in each iteration: a new file takes five times as long, and only the owner of the lock writes this one.
 * Blanks cover what a longer text before has left, so that there is no moment in which the rest of it is still there.
 */
const overwrite = (file: string, bytes: Buffer): void => {
  const descriptor = openOwn(file, 'update');
  try {
    const blanks = Math.max(0, fstatSync(descriptor).size - bytes.length);
    writeAll(descriptor, Buffer.concat([bytes, Buffer.alloc(blanks, ' ')]));
  } finally {
    closeSync(descriptor);
  }
};

const load = async (folder: string): Promise<Memory | null> => {
  const memory = parseJson((await readIfThere(guardFile(folder)).catch(() => null)) ?? '') as Memory | null | undefined;
  const whole = isObject(memory?.seen) && Array.isArray(memory.commands) && isAccepted(memory);
  if (!whole || memory.v !== 2) return null;
  return { ...memory, created: Array.isArray(memory.created) ? memory.created : [] };
};

const takeAccepted = (folder: string): Accepted | null => {
  if (!existsSync(acceptedFile(folder))) return null;
  try {
    const accepted = parseJson(readOwn(acceptedFile(folder))?.toString('utf8') ?? '');
    removeOwn(acceptedFile(folder));
    return isAccepted(accepted) ? accepted : null;
  } catch {
    return null;
  }
};

const isAccepted = (value: unknown): value is Accepted =>
  isObject(value) && isObject(value.expected) && Array.isArray(value.expectedTasks);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
