import { safeJson } from '../text/controls.ts';
import { findProject } from '../store/project.ts';
import { type ChangeOverview, overviews } from '../report/overview.ts';
import { describeLastRun } from '../report/status.ts';
import { table } from '../text/format.ts';
import type { Call } from './command.ts';

export const run = async ({ typed, cwd, env, terminal }: Call): Promise<number> => {
  const changes = await overviews(findProject(cwd), env);
  for (const { damage } of changes) if (damage !== null) terminal.say(`${damage}\n`);
  if (typed.json) terminal.answer(`${safeJson(changes, 2)}\n`);
  else if (changes.length === 0)
    terminal.answer('No active change. Make one with "spool create change <slug> --module <id>".\n');
  else terminal.answer(`${table([head, ...changes.map(row)]).join('\n')}\n`);
  return 0;
};

const head = ['change', 'module', 'tasks', 'last run'];

const row = ({ id, module, tasks, lastRun }: ChangeOverview) => [
  id,
  module ?? '-',
  tasks === null ? '-' : `${tasks.done}/${tasks.all}`,
  describeLastRun(lastRun),
];
