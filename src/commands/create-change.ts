import { commandLine } from '../text/shell-words.ts';
import { createChange } from '../changes/spool/create.ts';
import { noModule } from '../changes/spool/ids.ts';
import { findProjectHere } from '../store/project.ts';
import { moduleIdOf, resolveModule } from '../changes/modules.ts';
import type { Invocation } from './shared/command.ts';

export const run = async ({ args, rawFlags, cwd, terminal }: Invocation): Promise<number> => {
  const project = findProjectHere(cwd);
  const module =
    rawFlags.module === undefined ? noModule : moduleIdOf(resolveModule(project, String(rawFlags.module)))!;
  const { id, proposalFile, tasksFile } = await createChange(project, module, args[0]!);
  terminal.print(`Created change ${id}:\n  ${proposalFile}\n  ${tasksFile}\n`);
  terminal.print(`\nNext: fill in the proposal and the tasks, then ${commandLine('spool', 'ralph', id)}\n`);
  return 0;
};
