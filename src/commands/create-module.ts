import { createModule } from '../changes/create.ts';
import { findProjectHere } from '../store/project.ts';
import { moduleIdOf } from '../changes/modules.ts';
import type { Invocation } from './command.ts';

export const run = async ({ args, cwd, terminal }: Invocation): Promise<number> => {
  const project = findProjectHere(cwd);
  const name = await createModule(project, args[0]!);
  terminal.print(`Created module ${name}:\n  .spool/modules/${name}/module.md\n`);
  terminal.print(`\nNext: spool create change <slug> --module ${moduleIdOf(name)}\n`);
  return 0;
};
