import { findProject } from '../store/project.ts';
import { dropTrust } from '../trust/store.ts';
import type { Invocation } from './command.ts';

/** The next run asks again. */
export const run = async ({ cwd, env, terminal }: Invocation): Promise<number> => {
  const project = findProject(cwd);
  const had = await dropTrust(env, project);
  terminal.print(had ? `${project.root} is not trusted any more.\n` : `${project.root} was not trusted.\n`);
  return 0;
};
