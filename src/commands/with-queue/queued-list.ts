import { isAboutQueue, queueStates } from '../../cluster/queue.ts';
import { lastRunText, remoteOf } from '../../report/worker-rows.ts';
import { statusOfQueued } from '../../report/worker-run.ts';
import type { Project } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';
import { localRun, tryProjectQueue } from './queued.ts';

/** What workers do with the changes of a project, by ID, in one query; null if the queue cannot be used. */
export const readQueueStates = (url: string, request: { readonly project: Project } & Pick<Invocation, 'terminal'>) =>
  tryProjectQueue(url, request, async ({ database, key }) => {
    const rows = await queueStates(database, key);
    const known = await Promise.all(
      rows.map(async (row) => ({ row, isShown: isAboutQueue(row, await localRun(request.project, row.id)) })),
    );
    return new Map(
      known
        .filter(({ isShown }) => isShown)
        .map(({ row }) => [
          row.id,
          { text: lastRunText(row), status: statusOfQueued(row), iteration: row.iteration, ...remoteOf(row) },
        ]),
    );
  });
