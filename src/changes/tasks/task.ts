export interface Task {
  readonly title: string;
  readonly done: boolean;
  /** Marked with a star, as in `- [ ]* title`: listed, but neither counted nor open. */
  readonly optional: boolean;
}

export const countTasks = (tasks: readonly Task[]) => {
  const required = tasks.filter(({ optional }) => !optional);
  return { done: required.filter(({ done }) => done).length, total: required.length };
};

/** Returns the titles of the tasks that were open, or missing, and are done now. */
export const newlyDone = (before: readonly Task[], now: readonly Task[]): string[] => {
  const done = before.filter((task) => task.done).map(({ title }) => title);
  return now
    .filter((task) => task.done)
    .map(({ title }) => title)
    .filter((title) => {
      const known = done.indexOf(title);
      if (known !== -1) done.splice(known, 1);
      return known === -1;
    });
};

export const openTasks = (tasks: readonly Task[]): Task[] => tasks.filter(({ done, optional }) => !done && !optional);
