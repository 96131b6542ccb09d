import { safeJson } from '../text/controls.ts';
import { findProject } from '../store/project.ts';
import { type ChangeOverview, overviews } from '../report/overview.ts';
import { describeLastRun } from '../report/status.ts';
import { table } from '../text/format.ts';
import type { Invocation } from './command.ts';

export const run = async ({ rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const changes = await overviews(findProject(cwd), env);
  for (const { damage } of changes) if (damage !== null) terminal.log(`${damage}\n`);
  if (rawFlags.json) terminal.printResult(`${safeJson(changes, 2)}\n`);
  else if (changes.length === 0)
    terminal.printResult('No active changes. Create one with "spool create change <slug> --module <id>".\n');
  else terminal.printResult(`${table([head, ...changes.map(row)]).join('\n')}\n`);
  return 0;
};

const head = ['change', 'module', 'tasks', 'last run'];

const row = ({ id, module, tasks, lastRun }: ChangeOverview) => [
  id,
  module ?? '-',
  tasks === null ? '-' : `${tasks.done}/${tasks.total}`,
  describeLastRun(lastRun),
];
