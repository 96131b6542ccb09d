import { userError } from '../../errors.ts';
import { parseJsonText } from '../../text/json.ts';
import { isObject } from '../../text/shape.ts';
import type { TaskFormat } from '../tasks/format.ts';
import type { Task } from '../tasks/task.ts';

/** What is particular to a kind of JSON file. */
interface JsonRules {
  readonly name: string;
  readonly isOne: (value: unknown) => boolean;
  /** What is wrong with it; null if nothing is. */
  readonly problem: (value: unknown) => string | null;
  /** Only for a value without a problem. */
  readonly tasks: (value: unknown) => Task[];
  /** The value without what agents may change. */
  readonly goal: (value: unknown) => unknown;
  readonly whenDone: string;
  readonly allowedEdits: string;
  readonly firstTask: string;
}

type Fields = Readonly<Record<string, unknown>>;

const passing = {
  whenDone: 'set `passes` of an entry to `true` when it is done and verified',
  allowedEdits: 'to set `passes` of what is done to `true`',
};

const without = (names: readonly string[], value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name))) : value;

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const passesProblem = (entries: readonly unknown[], where: string): string | null => {
  for (const [index, entry] of entries.entries()) {
    const at = `${where}[${index}]`;
    if (!isObject(entry)) return `${at} is not an object`;
    const wrong = ['status', 'subtasks'].find((name) => name in entry);
    if (wrong !== undefined) return `${at} has "${wrong}", but only "passes" says whether it is done`;
    if (typeof entry.passes !== 'boolean') return `${at} needs "passes", which is true or false`;
    if (titleOf(entry) === '') return `${at} needs a "title" or a "description"`;
  }
  return null;
};

const titleOf = ({ id, title, description }: Fields): string =>
  [typeof title === 'string' ? id : undefined, title ?? description]
    .filter((each) => typeof each === 'string' || typeof each === 'number')
    .join(' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

const passingTasks = (entries: readonly unknown[]): Task[] =>
  (entries as Fields[]).map((entry) => ({ title: titleOf(entry), done: entry.passes === true, optional: false }));

/** `{ "userStories": [{ "id", "title", "passes" }] }` */
const prd: JsonRules = {
  ...passing,
  name: 'prd.json',
  firstTask: 'a story to "userStories", such as { "title": "…", "passes": false }',
  isOne: (value) => isObject(value) && ('userStories' in value || 'prd' in value),
  problem: (value) => {
    const { userStories } = value as Fields;
    if (!Array.isArray(userStories)) return '"userStories" must be an array at the top level';
    return passesProblem(userStories, 'userStories');
  },
  tasks: (value) => passingTasks((value as { userStories: unknown[] }).userStories),
  goal: (value) => ({
    ...(value as Fields),
    userStories: listIn((value as Fields).userStories).map((story) => without(['passes'], story)),
  }),
};

/** `[{ "category", "description", "steps", "passes" }]` */
const featureList: JsonRules = {
  ...passing,
  name: 'feature list',
  firstTask: 'an entry such as { "description": "…", "passes": false }',
  isOne: Array.isArray,
  problem: (value) => passesProblem(value as unknown[], 'entry '),
  tasks: (value) => passingTasks(value as unknown[]),
  goal: (value) => listIn(value).map((feature) => without(['passes'], feature)),
};

/** `{ "<tag>": { "tasks": [{ "id", "title", "status", "subtasks" }] } }`, or without tags. */
const taskMaster: JsonRules = {
  name: 'Task Master tasks',
  firstTask: 'a task to "tasks", such as { "id": 1, "title": "…", "status": "pending" }',
  isOne: (value) => isObject(value) && tagsOf(value).length > 0,
  problem: (value) => {
    for (const { name, tasks } of tagsOf(value as Fields)) {
      const problem = statusProblem(tasks, `${name === null ? '' : `${name}.`}tasks`);
      if (problem !== null) return problem;
    }
    return null;
  },
  tasks: (value) =>
    tagsOf(value as Fields).flatMap(({ name, tasks }, _, tags) =>
      (tasks as Fields[]).map((task) => ({
        title: `${name !== null && tags.length > 1 ? `${name}: ` : ''}${titleOf(task)}`,
        done: [task, ...(listIn(task.subtasks) as Fields[])].every(isClosed),
        // Not to be done: a decision of the user.
        optional: isShelved(task),
      })),
    ),
  // Its tool turns a file without tags into one with the tag `master`, and rewrites the metadata.
  goal: (value) => {
    const tags = tagsOf(value as Fields);
    const names = tags.map(({ name }) => name ?? 'tasks');
    return {
      tags: Object.fromEntries(tags.map(({ name, tasks }) => [name ?? 'master', tasks.map(taskGoal)])),
      others: without([...names, 'metadata'], value),
      inTags: tags.map(({ name }) => (name === null ? {} : without(['tasks', 'metadata'], (value as Fields)[name]))),
    };
  },
  whenDone: 'set `status` of a task and of its subtasks to `"done"` when it is done and verified',
  allowedEdits: 'to set `status` of what is done to `"done"`',
};

const tagsOf = (value: Fields): { readonly name: string | null; readonly tasks: readonly unknown[] }[] =>
  Array.isArray(value.tasks)
    ? [{ name: null, tasks: value.tasks }]
    : Object.entries(value).flatMap(([name, tag]) =>
        isObject(tag) && Array.isArray(tag.tasks) ? [{ name, tasks: tag.tasks }] : [],
      );

const statusProblem = (tasks: readonly unknown[], where: string): string | null => {
  for (const [index, task] of tasks.entries()) {
    const at = `${where}[${index}]`;
    if (!isObject(task)) return `${at} is not an object`;
    if (typeof task.status !== 'string') return `${at} needs "status", such as "pending" or "done"`;
    if (titleOf(task) === '') return `${at} needs a "title"`;
    const problem = statusProblem(listIn(task.subtasks), `${at}.subtasks`);
    if (problem !== null) return problem;
  }
  return null;
};

const isShelved = ({ status }: Fields): boolean => status === 'cancelled' || status === 'deferred';

const isClosed = (task: Fields): boolean => task.status === 'done' || task.status === 'completed' || isShelved(task);

/**
 * Its tool updates the times as well, turns numbers of tasks into texts, and repeats that of the task above. Whether a
 * task is to be done at all is not for agents to decide.
 */
const taskGoal = (task: unknown): unknown => {
  if (!isObject(task)) return task;
  const { id, dependencies, subtasks } = task;
  return {
    own: without(writtenByTool, task),
    id: String(id),
    dependencies: listIn(dependencies).map(String),
    subtasks: listIn(subtasks).map(taskGoal),
    shelved: isShelved(task),
  };
};

const writtenByTool = ['status', 'updatedAt', 'parentId', 'parentTaskId', 'id', 'dependencies', 'subtasks'];

/** The order matters: the last one is the loosest. */
const kinds: readonly JsonRules[] = [featureList, prd, taskMaster];

const parse = (text: string): unknown => parseJsonText(text.replace(/^\uFEFF/, ''));

/** Whether a text is a JSON object or array. The name of its file does not matter. */
export const isJson = (text: string): boolean => /^[\s\uFEFF]*[[{]/.test(text) && valueOf(text) !== undefined;

/** The format of a JSON file. One that is broken, or of no known kind, has no tasks: reading them throws. */
export const jsonFormat = (text: string, path: string): TaskFormat => {
  const rules = kinds.find(({ isOne }) => isOne(valueOf(text))) ?? null;
  const read = (current: string): unknown => {
    const problem = problemIn(current, rules);
    if (problem !== null) throw userError('bad-task-file', path, problem);
    return parse(current);
  };
  const tasks = (current: string) => rules?.tasks(read(current)) ?? [];
  return {
    name: rules?.name ?? 'JSON',
    hasBoxes: false,
    tasks: rules === null ? (current) => read(current) as Task[] : tasks,
    parents: () => [],
    openBoxes: () => [],
    titles: (current) => (problemIn(current, rules) === null ? tasks(current).map(({ title }) => title) : []),
    wording: (current) =>
      rules !== null && problemIn(current, rules) === null ? JSON.stringify(rules.goal(parse(current))) : current,
    commands: () => [],
    whenDone: rules?.whenDone ?? '',
    allowedEdits: rules?.allowedEdits ?? '',
    firstTask: rules?.firstTask ?? '',
  };
};

const valueOf = (text: string): unknown => {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
};

const problemIn = (text: string, rules: JsonRules | null): string | null => {
  if (/^[\s\uFEFF]*$/.test(text)) return 'it is empty. Write { "userStories": [{ "title": "…", "passes": false }] }';
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    return `it is not valid JSON (${(error as Error).message})`;
  }
  if (rules === null)
    return 'it has no tasks that Spool knows: "userStories" or an array with "passes", or "tasks" with "status"';
  return rules.isOne(value) ? rules.problem(value) : `it is not a ${rules.name} any more`;
};
