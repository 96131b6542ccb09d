import { commandLine } from '../text/shell-words.ts';
import { userError } from '../errors.ts';
import { createChange } from '../changes/create.ts';
import { findProjectHere } from '../store/project.ts';
import { listModules, moduleIdOf, resolveModule } from '../changes/modules.ts';
import type { Invocation } from './command.ts';

export const run = async ({ args, rawFlags, cwd, terminal }: Invocation): Promise<number> => {
  const project = findProjectHere(cwd);
  if (rawFlags.module === undefined) throw userError('module-required', await listModules(project));
  const module = await resolveModule(project, String(rawFlags.module));
  const id = await createChange(project, moduleIdOf(module)!, args[0]!);
  terminal.print(`Created change ${id}:\n  .spool/changes/${id}/proposal.md\n  .spool/changes/${id}/tasks.md\n`);
  terminal.print(`\nNext: fill in the proposal and the tasks, then ${commandLine('spool', 'ralph', '--change', id)}\n`);
  return 0;
};
