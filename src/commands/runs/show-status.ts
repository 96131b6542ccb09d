import { printRun, type StatusRequest } from '../../report/print-run.ts';
import type { Project } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';
import { queueOf } from '../with-queue/queue-url.ts';

interface ShowRequest {
  readonly invocation: Invocation;
  readonly project: Project;
  readonly json: boolean;
  readonly all: boolean;
}

/** Prints the last run of every change, with those of workers. */
export const showRuns = async (request: ShowRequest): Promise<void> => {
  const { queue, status } = await statusRequest(request);
  const remote = queue === null ? null : await (await queuedStatus()).readRemoteRuns(queue, status);
  const { printRuns } = await import('../../report/print-runs.ts');
  await printRuns(status, remote);
};

interface LocalChange extends Pick<StatusRequest, 'isDeleted'> {
  readonly change: string;
}

/** Prints the last run of one change. `find` is called unless workers have the change. */
export const showRun = async (query: string, request: ShowRequest, find: () => Promise<LocalChange>): Promise<void> => {
  const { queue, status } = await statusRequest(request);
  if (queue !== null && (await (await queuedStatus()).printQueuedStatus(queue, query, status))) return;
  const { change, ...presence } = await find();
  await printRun(change, { ...status, ...presence });
};

const statusRequest = async ({ invocation, project, json, all }: ShowRequest) => {
  const { env, terminal } = invocation;
  const status: StatusRequest = { project, env, terminal, json, all };
  return { queue: await queueOf(invocation, project), status };
};

/** Loaded only with a queue. */
const queuedStatus = () => import('../with-queue/queued-status.ts');
