import { userError } from '../errors.ts';
import { archiveChange, changeOf, resolveChange } from '../changes/sources.ts';
import { readTasks } from '../changes/task-file.ts';
import { findProjectHere } from '../store/project.ts';
import { lockChange } from '../store/run-lock.ts';
import { countTasks } from '../changes/tasks.ts';
import type { Invocation } from './shared/command.ts';

/** Locks the change while it is moved, so that no loop starts on it. */
export const run = async ({ args, rawFlags, cwd, terminal }: Invocation): Promise<number> => {
  const project = findProjectHere(cwd);
  const id = await resolveChange(project, args[0]!);
  const change = await changeOf(project, id);
  const { done, total } = countTasks(readTasks(change, project.root) ?? []);
  if (done < total && !rawFlags.force) throw userError('open-tasks', id, total - done, total);
  const lock = lockChange(project, id, { treeFolder: null });
  try {
    terminal.print(`Archived ${id} as ${await archiveChange(project, change)}\n`);
    return 0;
  } finally {
    lock.release();
  }
};
