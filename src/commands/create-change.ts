import { commandLine } from '../text/shell-words.ts';
import { userError } from '../errors.ts';
import { createChange } from '../changes/spool/create.ts';
import { findProjectHere } from '../store/project.ts';
import { listModules, moduleIdOf, resolveModule } from '../changes/modules.ts';
import type { Invocation } from './command.ts';

export const run = async ({ args, rawFlags, cwd, terminal }: Invocation): Promise<number> => {
  const project = findProjectHere(cwd);
  if (rawFlags.module === undefined) throw userError('module-required', listModules(project));
  const module = resolveModule(project, String(rawFlags.module));
  const { id, proposalFile, tasksFile } = await createChange(project, moduleIdOf(module)!, args[0]!);
  terminal.print(`Created change ${id}:\n  ${proposalFile}\n  ${tasksFile}\n`);
  terminal.print(`\nNext: fill in the proposal and the tasks, then ${commandLine('spool', 'ralph', '--change', id)}\n`);
  return 0;
};
