import type { RunRow } from '../ralph/run-row.ts';
import { createRedactor } from '../secrets/redact.ts';
import { safeJson } from '../text/controls.ts';
import { pluralise } from '../text/format.ts';
import { canvasOf } from './canvas.ts';
import { byActivity, createRowReader, isListed } from './read-run-rows.ts';
import { renderRunsTable } from './runs-table.ts';
import type { StatusRequest } from './print-run.ts';

/** The runs on other machines. */
export interface RemoteRuns {
  readonly rows: readonly RunRow[];
  /** Lines about workers. */
  readonly warnings: readonly string[];
}

/** Prints the last run of every change, running ones first. Those of archived changes only on request. */
export const printRuns = async (
  { project, terminal, env, json, all }: StatusRequest,
  remote: RemoteRuns | null = null,
): Promise<void> => {
  const now = new Date();
  const local = await createRowReader({ project, env, redactor: createRedactor(env) })(now);
  const isRemote = new Set(remote?.rows.map(({ change }) => change));
  const rows = [...local.filter(({ change }) => !isRemote.has(change)), ...(remote?.rows ?? [])].toSorted(byActivity);
  const shown = rows.filter((row) => all || isListed(row));
  if (json) return terminal.printResult(`${safeJson(shown)}\n`);
  if (rows.length === 0) return terminal.printResult('No runs yet. Start one with "spool ralph".\n');
  const table = shown.length === 0 ? [] : renderRunsTable(shown, now, canvasOf(terminal));
  const hidden = rows.length - shown.length;
  const kinds = rows.some((row) => row.deleted && !isListed(row)) ? 'archived or deleted' : 'archived';
  const more = hidden === 0 ? [] : [`${pluralise(hidden, 'run')} of ${kinds} changes (--all shows them)`];
  terminal.printResult(`${[...table, ...more, ...(remote?.warnings ?? [])].join('\n')}\n`);
};
