import { listQueue, type ListedChange } from '../../cluster/queue.ts';
import { listWorkers } from '../../cluster/workers.ts';
import { canvasOf } from '../../report/canvas.ts';
import { answer } from '../../report/message.ts';
import { queueColumns, workerColumns } from '../../report/queue.ts';
import { renderTable } from '../../report/table.ts';
import { findProject } from '../../store/project.ts';
import { safeJson } from '../../text/controls.ts';
import type { Invocation } from '../registry/command.ts';
import { repositoryAt, withQueue } from '../with-queue/queue.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const { rawFlags, cwd, terminal } = invocation;
  const projects =
    rawFlags.everywhere === true ? null : [(await repositoryAt(findProject(cwd).root, invocation)).project];
  return withQueue(invocation, 'spool queue list', async (database) => {
    const [changes, workers] = [await listQueue(database, projects), await listWorkers(database)];
    if (rawFlags.json) {
      terminal.printResult(`${safeJson({ changes: changes.map(jsonOf), workers }, 2)}\n`);
      return 0;
    }
    if (changes.length === 0) answer(terminal, 'The queue is empty. Add a change with: spool queue add <change>');
    else
      terminal.printResult(
        `${renderTable(queueColumns({ showProject: projects === null }), changes, canvasOf(terminal)).join('\n')}\n`,
      );
    terminal.printResult(
      workers.length === 0
        ? '\nNo worker is running. Start one with: spool worker\n'
        : `\n${renderTable(workerColumns, workers, canvasOf(terminal)).join('\n')}\n`,
    );
    return 0;
  });
};

const jsonOf = (row: ListedChange) => ({
  project: row.project,
  change: row.id,
  state: row.state,
  silent: row.is_silent,
  detail: row.detail,
  priority: row.priority,
  labels: row.labels,
  blockedBy: row.blocked_by,
  queuedAt: row.queued_at,
  queuedBy: row.queued_by,
  availableAt: row.available_at,
  owner: row.owner,
  host: row.host,
  claimedAt: row.claimed_at,
  epoch: row.epoch,
  run: row.run,
  iteration: row.iteration,
  costUsd: row.cost_usd,
});
