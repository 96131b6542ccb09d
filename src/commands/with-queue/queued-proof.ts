import { lastRecords } from '../../cluster/events.ts';
import { readPublishedLedger } from '../../cluster/published.ts';
import { say } from '../../report/message.ts';
import type { SentRun } from '../../report/proof/report.ts';
import { statusOfQueued } from '../../report/worker-run.ts';
import type { Project } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';
import { keyOf, tryQueuedChange } from './queued.ts';
import { viewOf } from './queued-status.ts';

/** The last iterations are enough for tables and charts. */
const maxRecords = 5000;

/**
 * Reads the run that workers have of a change, with its ledger as far as it is believed. Returns null if this checkout
 * knows more about the change, or if the queue cannot be used.
 */
export const readSentRun = (
  url: string,
  query: string,
  { project, env, terminal }: Pick<Invocation, 'env' | 'terminal'> & { readonly project: Project },
): Promise<{ readonly change: string; readonly sent: SentRun } | null> => {
  return tryQueuedChange(url, { project, terminal, query }, async (queue, row) => {
    const change = row.id;
    const view = viewOf(row);
    if (view === null) return null;
    const records = await lastRecords(queue.database, keyOf(queue, change), { run: view.run, limit: maxRecords });
    const ledger = row.fence === null ? null : await readPublishedLedger(row, { url: queue.remote, env });
    if (ledger !== null && 'why' in ledger) say(terminal, `The proof of ${change} cannot be fetched: ${ledger.why}.`);
    const status = statusOfQueued(row);
    const sent: SentRun = {
      view: { ...view, status: status === 'queued' ? view.status : status },
      records,
      ledger: ledger === null || 'why' in ledger ? null : ledger,
    };
    return { change, sent };
  });
};
