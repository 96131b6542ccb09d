import { createModule } from '../changes/spool/create.ts';
import { findProjectHere } from '../store/project.ts';
import { moduleIdOf } from '../changes/modules.ts';
import { answer } from '../report/message.ts';
import type { Invocation } from './registry/command.ts';

export const run = async ({ args, cwd, terminal }: Invocation): Promise<number> => {
  const project = findProjectHere(cwd);
  const { name, file } = await createModule(project, args[0]!);
  answer(terminal, `Created module ${name}:\n  ${file}`);
  answer(terminal, `\nNext: spool create change <slug> --module ${moduleIdOf(name)}`);
  return 0;
};
