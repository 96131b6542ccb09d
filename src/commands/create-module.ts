import { createModule } from '../changes/spool/create.ts';
import { findProjectHere } from '../store/project.ts';
import { moduleIdOf } from '../changes/modules.ts';
import type { Invocation } from './shared/command.ts';

export const run = async ({ args, cwd, terminal }: Invocation): Promise<number> => {
  const project = findProjectHere(cwd);
  const { name, file } = await createModule(project, args[0]!);
  terminal.print(`Created module ${name}:\n  ${file}\n`);
  terminal.print(`\nNext: spool create change <slug> --module ${moduleIdOf(name)}\n`);
  return 0;
};
