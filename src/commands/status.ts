import { deletedChanges, resolveAnyChange } from '../changes/sources.ts';
import { findProject } from '../store/project.ts';
import type { Invocation } from './registry/command.ts';
import { showRun, showRuns } from './runs/show-status.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const { args, rawFlags, cwd } = invocation;
  const project = findProject(cwd);
  const request = { invocation, project, json: Boolean(rawFlags.json), all: Boolean(rawFlags.all) };
  const [query] = args;
  if (query === undefined) await showRuns(request);
  else
    await showRun(query, request, async () => {
      const change = await resolveAnyChange(project, query);
      return { change, isDeleted: (await deletedChanges(project)).includes(change) };
    });
  return 0;
};
