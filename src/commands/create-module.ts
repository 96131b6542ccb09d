import { createModule } from '../changes/spool/create.ts';
import { findProjectHere } from '../store/project.ts';
import { moduleIdOf } from '../changes/spool/modules.ts';
import type { Invocation } from './command.ts';

export const run = async ({ argument, cwd, terminal }: Invocation): Promise<number> => {
  const project = findProjectHere(cwd);
  const { name, file } = await createModule(project, argument!);
  terminal.print(`Made module ${name}:\n  ${file}\n`);
  terminal.print(`\nNext: spool create change <slug> --module ${moduleIdOf(name)}\n`);
  return 0;
};
