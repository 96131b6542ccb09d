import { safeJson } from '../text/controls.ts';
import { finishArchive } from '../changes/archive/finish.ts';
import { activeChanges, sourceProblems } from '../changes/sources.ts';
import { findProject, type Project } from '../store/project.ts';
import { archivedOverviews, type ChangeRow, readChangeRows } from '../report/read-change-rows.ts';
import { canvasOf } from '../report/canvas.ts';
import { renderChangesTable } from '../report/changes-table.ts';
import { answer, say } from '../report/message.ts';
import { commandLine } from '../text/shell-words.ts';
import { agentEdits } from './runs/agent-edits.ts';
import type { Invocation } from './registry/command.ts';
import { queueOf } from './with-queue/queue-url.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const { rawFlags, cwd, env, terminal } = invocation;
  const list = rawFlags.archived ? archivedOverviews : readChangeRows;
  const project = findProject(cwd);
  const finished = await finishArchive(project, env);
  if (finished !== null) say(terminal, finished);
  const queue = rawFlags.archived ? null : await queueOf(invocation, project);
  const [overviewsHere, remote] = await Promise.all([
    list(project, env),
    queue === null
      ? null
      : import('./with-queue/queued-list.ts').then((each) => each.readQueueStates(queue, { project, terminal })),
  ]);
  const changes: readonly ChangeRow[] = overviewsHere.map((each) =>
    remote === null ? each : { ...each, remote: remote.get(each.id) ?? null },
  );
  for (const problem of await sourceProblems(project)) say(terminal, problem);
  for (const { damage } of changes) if (damage !== null) say(terminal, damage);
  for (const { id, problem } of changes) if (problem !== null) say(terminal, `${id}: ${problem}`);
  if (!rawFlags.archived) await announceEdits(project, changes, { env, terminal });
  if (rawFlags.json) terminal.printResult(`${safeJson(changes, 2)}\n`);
  else if (changes.length === 0) answer(terminal, rawFlags.archived ? noneArchived : noneActive);
  else terminal.printResult(`${renderChangesTable(changes, new Date(), canvasOf(terminal)).join('\n')}\n`);
  return 0;
};

/** An agent may have changed what names the task file, so that other tasks are counted than during its run. */
const announceEdits = async (
  project: Project,
  changes: readonly ChangeRow[],
  { env, terminal }: Pick<Invocation, 'env' | 'terminal'>,
): Promise<void> => {
  const ended = new Set(changes.filter(({ lastRun }) => lastRun?.status !== 'running').map(({ id }) => id));
  for (const { id, change } of await activeChanges(project)) {
    const [edit] = change === null || !ended.has(id) ? [] : await agentEdits(project, change, env);
    const accept = commandLine('spool', 'accept', id);
    if (edit !== undefined) say(terminal, `${id}: ${edit} while an agent worked. To accept it: ${accept}`);
  }
};

const noneActive = 'No active changes. Start one with: spool ralph "Describe the change in a sentence"';
const noneArchived = 'No archived changes. Archive one with "spool archive <change>".';
