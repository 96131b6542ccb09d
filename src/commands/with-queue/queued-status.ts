import { lastLines, lastRecords } from '../../cluster/events.ts';
import { isAboutQueue, type ListedChange, listQueue } from '../../cluster/queue.ts';
import { listWorkers } from '../../cluster/workers.ts';
import type { RunView } from '../../ralph/view.ts';
import { activityText } from '../../report/activity.ts';
import type { RemoteRuns } from '../../report/print-runs.ts';
import { canvasOf } from '../../report/canvas.ts';
import { phaseOfQueued, workerRow, remoteOf, silentText } from '../../report/worker-rows.ts';
import { renderQueued, statusOfQueued } from '../../report/worker-run.ts';
import type { StatusRequest } from '../../report/print-run.ts';
import { shownIterations } from '../../report/shown-iterations.ts';
import { symbolsFor } from '../../report/symbols.ts';
import { createRedactor } from '../../secrets/redact.ts';
import { parseJournalLine } from '../../store/event-format.ts';
import { parseView } from '../../store/formats.ts';
import { upgradeView } from '../../store/upgrade.ts';
import { safeJson } from '../../text/controls.ts';
import { keyOf, localRun, type ProjectQueue, tryProjectQueue, tryQueuedChange } from './queued.ts';

/** The view of a run as its worker has saved it; null if there is none that this version can read. */
export const viewOf = ({ id, view }: Pick<ListedChange, 'id' | 'view'>): RunView | null => {
  const parsed = view === null ? undefined : parseView(upgradeView(view));
  return parsed ? { ...parsed, change: id } : null;
};

/** Prints a change that workers have. Returns false if it is not about the queue: this checkout knows more. */
export const printQueuedStatus = async (url: string, query: string, request: StatusRequest): Promise<boolean> => {
  const printed = await tryQueuedChange(url, { ...request, query }, async (queue, row) => {
    await printRow(queue, row, request);
    return true;
  });
  return printed ?? false;
};

/** The last lines that may say what a run does. */
const maxActivityLines = 50;

export const printRow = async (
  queue: ProjectQueue,
  row: ListedChange,
  { terminal, env, json, all }: StatusRequest,
): Promise<void> => {
  const view = viewOf(row);
  const redactor = createRedactor(env);
  const of = view && { run: view.run, limit: all ? null : shownIterations };
  const records = of === null ? [] : redactor.data(await lastRecords(queue.database, keyOf(queue, row.id), of));
  if (json) {
    const status = statusOfQueued(row);
    const shown = view && { ...view, status: status === 'queued' ? view.status : status };
    const queued = status === 'queued' ? { by: row.queued_by, since: row.queued_at.toISOString() } : null;
    return terminal.printResult(
      `${safeJson(redactor.data({ change: row.id, status, phase: phaseOfQueued(row, view), queued, view: shown, leftovers: [], iterations: records, remote: remoteOf(row) }))}\n`,
    );
  }
  const activity = view === null || row.state !== 'running' ? null : await activityOf(queue, view, env);
  const facts = { view: view && redactor.data(view), records, activity: activity && redactor.oneLine(activity, 200) };
  terminal.printResult(`${renderQueued(redactor.data(row), facts, canvasOf(terminal)).join('\n')}\n`);
};

const activityOf = async (
  queue: ProjectQueue,
  { change, run, workspace }: RunView,
  env: NodeJS.ProcessEnv,
): Promise<string | null> => {
  const shown = { symbols: symbolsFor(env), root: workspace?.root ?? null };
  for (const line of await lastLines(queue.database, keyOf(queue, change), { run, limit: maxActivityLines })) {
    const event = parseJournalLine(line)?.event;
    const text = event && activityText(event, shown);
    if (text) return text;
  }
  return null;
};

/** What workers do in this repository, for `spool status` without a change. */
export const readRemoteRuns = async (url: string, request: StatusRequest): Promise<RemoteRuns | null> =>
  tryProjectQueue(url, request, async ({ database, key }) => {
    const redactor = createRedactor(request.env);
    const rows = await listQueue(database, [key]);
    const local = await Promise.all(rows.map(({ id }) => localRun(request.project, id)));
    const shown = rows.filter((row, index) => isAboutQueue(row, local[index]!));
    const silent = (await listWorkers(database)).filter((worker) => worker.silent && worker.projects.includes(key));
    return {
      rows: shown.map((row) => redactor.data(workerRow(row, viewOf(row)))),
      warnings: silent.map(silentText),
    };
  });
