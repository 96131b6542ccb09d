import { safeJson } from '../text/controls.ts';
import { finishArchive } from '../changes/archive/finish.ts';
import { activeChanges, sourceProblems } from '../changes/sources.ts';
import { findProject, type Project } from '../store/project.ts';
import { archivedOverviews, type ChangeOverview, overviews } from '../report/overview.ts';
import { canvasOf } from '../report/canvas.ts';
import { answer, say } from '../report/message.ts';
import { colourOf, statusText } from '../report/status.ts';
import { type Column, renderTable } from '../report/table.ts';
import { timeAgo } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import { agentEdits } from './shared/agent-edits.ts';
import type { Invocation } from './shared/command.ts';

export const run = async ({ rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const list = rawFlags.archived ? archivedOverviews : overviews;
  const project = findProject(cwd);
  const finished = await finishArchive(project, env);
  if (finished !== null) say(terminal, finished);
  const changes = await list(project, env);
  for (const problem of await sourceProblems(project)) say(terminal, problem);
  for (const { damage } of changes) if (damage !== null) say(terminal, damage);
  for (const { id, problem } of changes) if (problem !== null) say(terminal, `${id}: ${problem}`);
  if (!rawFlags.archived) await announceEdits(project, changes, { env, terminal });
  if (rawFlags.json) terminal.printResult(`${safeJson(changes, 2)}\n`);
  else if (changes.length === 0) answer(terminal, rawFlags.archived ? noneArchived : noneActive);
  else
    terminal.printResult(`${renderTable(columnsFor(changes, new Date()), changes, canvasOf(terminal)).join('\n')}\n`);
  return 0;
};

/** An agent may have changed what names the task file, so that other tasks are counted than during its run. */
const announceEdits = async (
  project: Project,
  changes: readonly ChangeOverview[],
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

/** The source of changes is shown if there are others than Spool's own, and their module if any has one. */
const columnsFor = (changes: readonly ChangeOverview[], now: Date): readonly Column<ChangeOverview>[] => [
  { title: 'change', value: ({ id }) => id, min: 20 },
  ...(changes.some(({ source }) => source !== 'spool') ? [sourceColumn] : []),
  ...(changes.some(({ source, module }) => source === 'spool' || module !== null) ? [moduleColumn] : []),
  { title: 'tasks', numeric: true, value: tasksText, style: ({ problem }) => (problem === null ? null : 'red') },
  {
    title: 'last run',
    value: ({ lastRun, queued }) => (queued ? 'queued' : lastRun === null ? 'never' : statusText(lastRun)),
    style: ({ lastRun, queued }) => (queued ? null : colourOf(lastRun?.status)),
  },
  {
    title: '#',
    numeric: true,
    value: ({ lastRun, queued }) => String((queued ? null : lastRun?.iteration) ?? '-'),
    drop: 2,
  },
  { title: 'ended', value: ({ lastRun, queued }) => (queued ? '-' : endText(lastRun, now)), drop: 1 },
];

const tasksText = ({ tasks, problem }: ChangeOverview): string => {
  if (problem !== null) return 'damaged';
  return tasks === null ? '-' : `${tasks.done}/${tasks.total}`;
};

const sourceColumn: Column<ChangeOverview> = { title: 'source', value: ({ source }) => source, drop: 4 };
const moduleColumn: Column<ChangeOverview> = { title: 'module', value: ({ module }) => module ?? '-', drop: 3 };

const endText = (lastRun: ChangeOverview['lastRun'], now: Date): string =>
  lastRun?.status === 'running' || !lastRun?.endedAt ? '-' : timeAgo(lastRun.endedAt, now);
