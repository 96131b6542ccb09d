import { deletedChanges, resolveAnyChange } from '../changes/sources.ts';
import { printStatus } from '../report/run-status.ts';
import { findProject } from '../store/project.ts';
import type { Invocation } from './shared/command.ts';
import { queueOf } from './shared/queue-url.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const { args, rawFlags, cwd, env, terminal } = invocation;
  const project = findProject(cwd);
  const request = { project, env, terminal, json: Boolean(rawFlags.json), all: Boolean(rawFlags.all) };
  const queue = await queueOf(invocation, project);
  const [query] = args;
  if (query !== undefined) {
    if (queue !== null && (await (await import('./shared/queued-status.ts')).printQueuedStatus(queue, query, request)))
      return 0;
    const change = await resolveAnyChange(project, query);
    await printStatus(change, { ...request, isDeleted: (await deletedChanges(project)).includes(change) });
    return 0;
  }
  const remote =
    queue === null ? null : await (await import('./shared/queued-status.ts')).readRemoteRuns(queue, request);
  const { printRuns } = await import('../report/all-runs.ts');
  await printRuns(request, remote);
  return 0;
};
