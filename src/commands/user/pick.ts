import { basename } from 'node:path';
import { userError, type UserError } from '../../errors.ts';
import type { Project } from '../../store/project.ts';
import { type ChangeRow, readChangeRows } from '../../report/read-change-rows.ts';
import { rowIndent } from '../../report/choice-list.ts';
import { statusText } from '../../report/last-run-text.ts';
import { askSeveral, type Row } from '../../report/questions.ts';
import { oneLine, truncate } from '../../report/shorten.ts';
import { timeAgo, widthOf } from '../../text/format.ts';

interface PickRequest {
  /** What a new change would be created from; null if none can be. */
  readonly sentence: string | null;
  readonly columns: number;
  /** Whether changes that are running can be selected. */
  readonly allowRunning?: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** What was chosen, as a target of a run. */
type Picked =
  { readonly kind: 'changes'; readonly ids: readonly string[] } | { readonly kind: 'new'; readonly module: null };

/** No change has this ID. */
const newRow = ' new';

/** Asks the user to select active changes, or a new one if there is a sentence for it. */
export const pick = async (
  project: Project,
  { sentence, columns, allowRunning = false, env }: PickRequest,
): Promise<Picked> => {
  const all = await readChangeRows(project, env);
  const isDisabled = (each: ChangeRow) => each.problem !== null || (!allowRunning && isRunning(each));
  if (sentence === null && all.every(isDisabled)) throw noneLeft(all);
  const width = columns - rowIndent - 1;
  const added: Row[] =
    sentence === null
      ? []
      : [{ value: newRow, label: truncate(`New change: ${oneLine(sentence.trim())}`, width, '…'), alone: true }];
  const rows = rowsOf(all, { width, now: new Date(), isDisabled });
  const chosen = await askSeveral('Which change?', [...added, ...rows]);
  if (chosen === null) throw userError('cancelled', 'no change was selected');
  return chosen.includes(newRow) ? { kind: 'new', module: null } : { kind: 'changes', ids: chosen };
};

const noneLeft = (all: readonly ChangeRow[]): UserError => {
  const problem = all.find((each) => each.problem !== null)?.problem;
  if (problem !== undefined && problem !== null) return userError('usage', problem);
  return userError(
    'all-running',
    all.map(({ id }) => id),
  );
};

/** It runs, or a batch is about to start it. */
const isRunning = ({ lastRun, queued }: ChangeRow): boolean => lastRun?.status === 'running' || queued !== null;

interface RowOptions {
  readonly width: number;
  readonly now: Date;
  readonly isDisabled: (each: ChangeRow) => boolean;
}

/** Each row has the ID, the tasks and the last run. The ID is cut if the terminal is narrow. */
const rowsOf = (all: readonly ChangeRow[], { width, now, isDisabled }: RowOptions): Row[] => {
  const cells = all.map((each) => ({ id: oneLine(each.id), tasks: tasksText(each), last: lastRunText(each, now) }));
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map(widthOf));
  const tasksWidth = widest(cells.map(({ tasks }) => tasks));
  // A problem is cut instead.
  const lasts = cells.filter((_, index) => all[index]!.problem === null).map(({ last }) => last);
  const room = width - tasksWidth - Math.max(shortestId, widest(lasts)) - 2 * gap.length;
  const idWidth = Math.max(shortestId, Math.min(widest(cells.map(({ id }) => id)), room));
  return cells.map(({ id, tasks, last }, index) => ({
    value: all[index]!.id,
    label: truncate(
      [padded(truncate(id, idWidth, '…'), idWidth), padded(tasks, tasksWidth), last].join(gap).trimEnd(),
      width,
      '…',
    ),
    disabled: isDisabled(all[index]!),
  }));
};

const gap = '  ';
const shortestId = 12;

const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

const tasksText = ({ tasks }: ChangeRow): string => (tasks === null ? '-' : `${tasks.done}/${tasks.total}`);

const lastRunText = ({ lastRun, queued, problem }: ChangeRow, now: Date): string => {
  // Without the folders of its path, which say less than the reason.
  if (problem !== null)
    return `damaged: ${problem
      .split(' ')
      .map((word) => basename(word))
      .join(' ')}`;
  if (queued) return 'queued';
  if (lastRun === null) return 'not run yet';
  const { status, startedAt, endedAt } = lastRun;
  if (startedAt === null) return status;
  return status === 'running' ? statusText(lastRun) : `${statusText(lastRun)} ${timeAgo(endedAt ?? startedAt, now)}`;
};
