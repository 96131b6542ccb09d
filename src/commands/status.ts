import { deletedChanges, resolveAnyChange } from '../changes/sources.ts';
import { printStatus } from '../report/run-status.ts';
import { findProject } from '../store/project.ts';
import type { Invocation } from './shared/command.ts';

export const run = async ({ args, rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const project = findProject(cwd);
  const request = { project, env, terminal, json: Boolean(rawFlags.json), all: Boolean(rawFlags.all) };
  const [query] = args;
  if (query !== undefined) {
    const change = await resolveAnyChange(project, query);
    await printStatus(change, { ...request, isDeleted: (await deletedChanges(project)).includes(change) });
    return 0;
  }
  const { printRuns } = await import('../report/all-runs.ts');
  await printRuns(request);
  return 0;
};
