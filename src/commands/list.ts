import { safeJson } from '../text/controls.ts';
import { finishArchive } from '../changes/archive/finish.ts';
import { sourceProblems } from '../changes/sources.ts';
import { findProject } from '../store/project.ts';
import { archivedOverviews, overviews } from '../report/overview.ts';
import { canvasOf } from '../report/canvas.ts';
import { renderChanges } from '../report/change-rows.ts';
import { answer, say } from '../report/message.ts';
import type { Invocation } from './shared/command.ts';

export const run = async ({ rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const list = rawFlags.archived ? archivedOverviews : overviews;
  const project = findProject(cwd);
  const finished = await finishArchive(project, env);
  if (finished !== null) say(terminal, finished);
  const changes = await list(project, env);
  for (const problem of sourceProblems(project)) say(terminal, problem);
  for (const { damage } of changes) if (damage !== null) say(terminal, damage);
  for (const { id, problem } of changes) if (problem !== null) say(terminal, `${id}: ${problem}`);
  if (rawFlags.json) terminal.printResult(`${safeJson(changes, 2)}\n`);
  else if (changes.length === 0) answer(terminal, rawFlags.archived ? noneArchived : noneActive);
  else terminal.printResult(`${renderChanges(changes, new Date(), canvasOf(terminal)).join('\n')}\n`);
  return 0;
};

const noneActive = 'No active changes. Start one with: spool ralph "Describe the change in a sentence"';
const noneArchived = 'No archived changes. Archive one with "spool archive <change>".';
