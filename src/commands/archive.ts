import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { userError } from '../errors.ts';
import { createFolder, renameOwn } from '../files/own.ts';
import { changeFolder, resolveChange } from '../changes/changes.ts';
import { readTasks } from '../changes/task-file.ts';
import { archiveFolder, findProjectHere } from '../store/project.ts';
import { lockChange } from '../store/run-lock.ts';
import { countTasks } from '../changes/tasks.ts';
import type { Invocation } from './command.ts';

/** Locks the change while it is moved, so that no loop starts on it. */
export const run = async ({ args, rawFlags, cwd, terminal }: Invocation): Promise<number> => {
  const project = findProjectHere(cwd);
  const change = await resolveChange(project, args[0]!);
  const { done, total } = countTasks((await readTasks(project, change)) ?? []);
  if (done < total && !rawFlags.force) throw userError('open-tasks', change, total - done, total);
  const lock = lockChange(project, change, { treeFolder: null });
  try {
    const day = new Date().toISOString().slice(0, 10);
    const target = join(archiveFolder(project), `${day}-${change}`);
    if (existsSync(target)) throw userError('already-archived', relative(project.root, target));
    createFolder(archiveFolder(project));
    renameOwn(changeFolder(project, change), target);
    terminal.print(`Archived ${change} as ${relative(project.root, target)}\n`);
    return 0;
  } finally {
    lock.release();
  }
};
