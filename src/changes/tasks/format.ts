import { openBoxes, parentTasks, parseTasks, taskTitles } from './parse.ts';
import type { Task } from './task.ts';

/** How the tasks in a task file are written. */
export interface TaskFormat {
  /** For the user. */
  readonly name: string;
  /** Whether each task is a line with a box, so that two versions can be merged task by task. */
  readonly hasBoxes: boolean;
  /** Throws if the text does not have this format. */
  tasks(text: string): Task[];
  /** Boxes that are not counted, because there are tasks below them. */
  parents(text: string): Task[];
  /** What must be neither reworded nor removed. */
  titles(text: string): string[];
  /** The titles of all open boxes, whether or not they are tasks. */
  openBoxes(text: string): string[];
  /** What an agent must not change besides the titles; null if it may change everything else. */
  readonly wording: ((text: string) => string) | null;
  /** The commands in the text that verify the work. */
  commands(text: string): string[];
  /** How an agent marks a task as done, for the prompt. */
  readonly whenDone: string;
  /** The only reason to change the file, for the prompt. */
  readonly allowedEdits: string;
  /** What to add to a file without tasks, for the user. */
  readonly firstTask: string;
}

/** The task file of a change that has other files as well. */
export const markdownTasks: TaskFormat = {
  name: 'Markdown tasks',
  hasBoxes: true,
  tasks: parseTasks,
  parents: parentTasks,
  titles: taskTitles,
  openBoxes,
  wording: null,
  commands: () => [],
  whenDone: 'tick a task (`- [x]`) when it is done, and add what is missing',
  allowedEdits: 'to tick tasks and add missing ones',
  firstTask: 'a task as "- [ ] …"',
};
