import { missingTasks } from '../changes/tasks/missing.ts';
import type { Task } from '../changes/tasks/task.ts';
import type { Hashes } from './goal.ts';

/**
 * What is expected of the goal, and what it was when an agent was last seen. Pure: `saved-memory.ts` loads and saves
 * it.
 */
export interface Memory {
  readonly v: 2;
  /** An agent is running, or was when Spool was killed: it may have made any edit since. */
  readonly working: boolean;
  readonly commands: readonly string[];
  readonly expected: Hashes;
  readonly seen: Hashes;
  readonly expectedTasks: readonly string[];
  /** The file that has them. */
  readonly tasksKey?: string;
  /** The titles of boxes that have tasks below them; missing if an older Spool has written the memory. */
  readonly expectedParents?: readonly string[];
  /** Keys that agents have created. */
  readonly created: readonly string[];
}

/** The goal that a user has accepted. */
export type Accepted = Pick<Memory, 'expected' | 'expectedTasks' | 'expectedParents'>;

/** A part of the goal that differs from the expected one. */
export type Tampering =
  | { readonly kind: 'changed' | 'deleted' | 'added'; readonly key: string }
  | { readonly kind: 'task'; readonly title: string };

/** The goal as it is now. */
export interface GoalState {
  readonly keys: readonly string[];
  /** Those that an agent must not create. */
  readonly closed: ReadonlySet<string>;
  readonly hashes: Hashes;
  readonly tasksKey: string;
  readonly taskTitles: () => string[];
  readonly parentTasks: () => readonly Task[];
}

/** The memory before the first agent. The goal that this agent finds is expected. */
export const emptyMemory = (commands: readonly string[]): Memory => ({
  v: 2,
  working: false,
  commands,
  expected: {},
  seen: {},
  expectedTasks: [],
  created: [],
});

/** If the settings name another task file, expects its tasks: the tasks of the earlier file are not missing. */
export const withTasksOf = (
  memory: Memory,
  { tasksKey, ...goal }: Pick<GoalState, 'tasksKey' | 'taskTitles' | 'parentTasks'>,
): Memory => ((memory.tasksKey ?? tasksKey) === tasksKey ? memory : { ...memory, tasksKey, ...expectTasks(goal) });

export const isEmpty = ({ seen }: Memory): boolean => Object.keys(seen).length === 0;

/** Whether the user has made this version of a key. */
export const isUsers = ({ working, seen }: Memory, key: string, hash: string | null | undefined): boolean =>
  !(key in seen) || (!working && seen[key] !== hash);

export const withAccepted = (memory: Memory, { expected, ...tasks }: Accepted): Memory => ({
  ...memory,
  expected: { ...memory.expected, ...expected },
  ...tasks,
});

/** Expects the tasks as they are now. */
export const expectTasks = ({ taskTitles, parentTasks }: Pick<GoalState, 'taskTitles' | 'parentTasks'>) => ({
  expectedTasks: taskTitles(),
  expectedParents: parentTasks().map(({ title }) => title),
});

/** Makes the edits of the user part of the expected goal. `hashes` must have all keys of the goal and of the memory. */
export const expectEdits = (memory: Memory, goal: GoalState): Memory => {
  const { hashes, closed, tasksKey } = goal;
  const isKnown = (key: string) => key in memory.seen || key in memory.expected;
  const wasCreated = new Set(memory.created);
  const isOfUser = (key: string) => isUsers(memory, key, hashes[key]);
  const isOfAgent = (key: string) => (wasCreated.has(key) ? !isOfUser(key) : memory.working && !isKnown(key));
  const keys = Object.keys(hashes);
  const ofAgent = keys.filter(isOfAgent);
  const expected = [
    ...keys.filter((key) => !isOfAgent(key)).map((key) => [key, isOfUser(key) ? hashes[key]! : memory.expected[key]!]),
    ...ofAgent.filter((key) => closed.has(key)).map((key) => [key, null]),
  ];
  return {
    ...memory,
    working: false,
    expected: Object.fromEntries(expected) as Hashes,
    seen: hashes,
    ...(isOfUser(tasksKey) ? expectTasks(goal) : {}),
    tasksKey,
    created: ofAgent.filter((key) => !closed.has(key)),
  };
};

export const beforeAgent = (memory: Memory, goal: GoalState): Memory => ({
  ...expectEdits(memory, goal),
  working: true,
});

/** Not for an empty memory: the agent would have created everything. */
export const afterAgent = (memory: Memory, { keys, closed, hashes }: GoalState): Memory => {
  const appeared = keys.filter((key) => !(key in memory.expected));
  const created = [...new Set([...memory.created, ...appeared.filter((key) => !closed.has(key))])];
  const absent = Object.fromEntries(appeared.filter((key) => closed.has(key)).map((key) => [key, null]));
  return { ...memory, working: false, expected: { ...memory.expected, ...absent }, seen: hashes, created };
};

export interface Synced {
  /** The paths that the sync has changed. */
  readonly taken: ReadonlySet<string>;
  /** What differed before the sync. */
  readonly differences: readonly Tampering[];
  /** The hashes before the sync of what agents have created. */
  readonly created: Hashes;
}

/**
 * Expects what the user has changed, except where an agent had changed the goal before. `hashes` must have only keys in
 * the paths that the sync has changed.
 */
export const afterSync = (memory: Memory, goal: GoalState, { taken, differences, created: before }: Synced): Memory => {
  const { hashes: now, tasksKey } = goal;
  const created = memory.created.filter((key) => !(key in now) || now[key] === before[key]);
  const hasDiffered = (key: string) => differences.some((each) => each.kind !== 'task' && each.key === key);
  const clean = Object.entries(now).filter(([key]) => !hasDiffered(key) && !created.includes(key));
  const tasksAreClean = taken.has(tasksKey) && differences.every(({ kind }) => kind !== 'task');
  return {
    ...memory,
    expected: { ...memory.expected, ...Object.fromEntries(clean) },
    seen: { ...memory.seen, ...now },
    ...(tasksAreClean ? expectTasks(goal) : {}),
    created,
  };
};

export const differencesFrom = (
  { expected, expectedTasks }: Memory,
  { hashes, tasksKey, taskTitles }: Pick<GoalState, 'hashes' | 'tasksKey' | 'taskTitles'>,
): Tampering[] => {
  const changed = Object.keys(expected)
    .filter((key) => key !== tasksKey && hashes[key] !== expected[key])
    .map((key): Tampering => ({
      kind: expected[key] === null ? 'added' : hashes[key] === null ? 'deleted' : 'changed',
      key,
    }));
  const missing = missingTasks(expectedTasks, taskTitles());
  return [...changed, ...missing.map((title): Tampering => ({ kind: 'task', title }))];
};

/**
 * Returns the titles of open boxes with tasks below them, except those that had some from the start: an agent cannot close
 * a task by adding others below it.
 */
export const newOpenParents = ({ expectedParents }: Memory, parents: readonly Task[]): string[] => {
  const open = parents.filter(({ done }) => !done).map(({ title }) => title);
  return expectedParents === undefined ? [] : missingTasks(open, expectedParents);
};

/** Returns the titles of expected tasks that no longer count as tasks, although their boxes are still there and open. */
export const movedTasks = (
  { expectedTasks }: Memory,
  titles: readonly string[],
  openBoxes: readonly string[],
): string[] => {
  const missing = missingTasks(expectedTasks, titles);
  const deleted = new Set(missingTasks(missing, openBoxes));
  return missing.filter((title) => !deleted.has(title));
};
