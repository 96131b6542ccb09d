import { join } from 'node:path';
import { commandLine } from '../text/shell-words.ts';
import { createChange } from '../changes/spool/create.ts';
import { noModule } from '../changes/spool/ids.ts';
import { readText } from '../files/read.ts';
import { findProjectHere } from '../store/project.ts';
import { moduleIdOf, resolveModule } from '../changes/modules.ts';
import type { Invocation } from './shared/command.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const { args, rawFlags, cwd, terminal } = invocation;
  const project = findProjectHere(cwd);
  const module =
    rawFlags.module === undefined ? noModule : moduleIdOf(resolveModule(project, String(rawFlags.module)))!;
  const change = await createChange(project, module, args[0]!);
  const { id, proposalFile, tasksFile } = change;
  terminal.print(`Created change ${id}:\n  ${proposalFile}\n  ${tasksFile}\n`);
  if (rawFlags.edit) {
    const { editFile } = await import('./shared/edit.ts');
    await editFile(invocation, project, proposalFile);
  }
  const isEmpty = change.isTemplate(readText(join(project.root, proposalFile)) ?? '');
  const first = isEmpty ? 'fill in the proposal and the tasks, then ' : '';
  terminal.print(`\nNext: ${first}${commandLine('spool', 'ralph', id)}\n`);
  return 0;
};
