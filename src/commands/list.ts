import { safeJson } from '../text/controls.ts';
import { finishArchive } from '../changes/finish-archive.ts';
import { findProject } from '../store/project.ts';
import { archivedOverviews, type ChangeOverview, overviews } from '../report/overview.ts';
import { describeLastRun } from '../report/status.ts';
import { table } from '../text/format.ts';
import type { Invocation } from './shared/command.ts';

export const run = async ({ rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const list = rawFlags.archived ? archivedOverviews : overviews;
  const project = findProject(cwd);
  const finished = await finishArchive(project);
  if (finished !== null) terminal.log(`${finished}\n`);
  const changes = await list(project, env);
  for (const { damage } of changes) if (damage !== null) terminal.log(`${damage}\n`);
  if (rawFlags.json) terminal.printResult(`${safeJson(changes, 2)}\n`);
  else if (changes.length === 0) terminal.printResult(`${rawFlags.archived ? noneArchived : noneActive}\n`);
  else terminal.printResult(`${table([head, ...changes.map(row)]).join('\n')}\n`);
  return 0;
};

const noneActive = 'No active changes. Start one with: spool ralph "Describe the change in a sentence"';
const noneArchived = 'No archived changes. Archive one with "spool archive <change>".';

const head = ['change', 'module', 'tasks', 'last run'];

const row = ({ id, module, tasks, lastRun }: ChangeOverview) => [
  id,
  module ?? '-',
  tasks === null ? '-' : `${tasks.done}/${tasks.total}`,
  describeLastRun(lastRun),
];
