import { findProject } from '../store/project.ts';
import { dropTrust } from '../trust/store.ts';
import type { Invocation } from './registry/command.ts';

export const run = async ({ cwd, env, terminal }: Invocation): Promise<number> => {
  const project = findProject(cwd);
  const had = await dropTrust(env, project);
  terminal.print(had ? `${project.root} is no longer trusted.\n` : `${project.root} was not trusted.\n`);
  return 0;
};
