import { createRedactor } from '../secrets/redact.ts';
import { safeJson } from '../text/controls.ts';
import { pluralise } from '../text/format.ts';
import { canvasOf } from './canvas.ts';
import { createRowReader, isListed, renderRows } from './run-rows.ts';
import type { StatusRequest } from './run-status.ts';

/** Prints the last run of every change, running ones first. Those of archived changes only on request. */
export const printRuns = async ({ project, terminal, env, json, all }: StatusRequest): Promise<void> => {
  const now = new Date();
  const rows = await createRowReader({ project, env, redactor: createRedactor(env) })(now);
  const shown = rows.filter((row) => all || isListed(row));
  if (json) return terminal.printResult(`${safeJson(shown)}\n`);
  if (rows.length === 0) return terminal.printResult('No runs yet. Start one with "spool ralph".\n');
  const table = shown.length === 0 ? [] : renderRows(shown, now, canvasOf(terminal));
  const hidden = rows.length - shown.length;
  const kinds = rows.some((row) => row.deleted && !isListed(row)) ? 'archived or deleted' : 'archived';
  const more = hidden === 0 ? [] : [`${pluralise(hidden, 'run')} of ${kinds} changes (--all shows them)`];
  terminal.printResult(`${[...table, ...more].join('\n')}\n`);
};
