import { type IterationRecord } from '../ralph/record.ts';
import { unknownUsage } from '../ralph/agent-events.ts';
import type { ChangeOverview } from './overview.ts';
import { totalUsage } from '../ralph/usage.ts';
import { currentStatus, type RunView } from '../ralph/view.ts';
import { summarise } from './summary.ts';
import { type Column, lineChanges, duration, localTime, titledTable } from '../text/format.ts';
import { oneLine } from './shorten.ts';
import { costOf, outcome, tokensOf, usageText } from './figures.ts';

/** Renders the output of `--status`: the run and its latest iterations. */
export const renderStatus = (view: RunView, records: readonly IterationRecord[], alive: boolean): string[] => {
  const status = currentStatus(view, alive);
  const max = view.maxIterations === null ? '' : `/${view.maxIterations}`;
  const pid = status === 'running' ? ` (PID ${view.pid})` : '';
  const gate = view.pending && status !== 'running' ? ', checks interrupted' : '';
  return [
    `${view.change}: ${status}${pid}, iteration ${view.iteration}${gate} (${view.finishedIterations}${max} iterations finished)`,
    ...(view.detail === null ? [] : [`  ${view.detail}${view.cause === null ? '' : ` (${view.cause})`}`]),
    ...(view.waiting && status === 'running'
      ? [`  waiting until ${localTime(new Date(view.waiting.untilMs).toISOString())}: ${view.waiting.why}`]
      : []),
    ...(status === 'interrupted' && view.status === 'running' ? [`  ${endText(view)}`] : []),
    `  run ${view.run}, ${view.harness}${view.model === null ? '' : ` (${view.model})`}, started ${localTime(view.startedAt)}`,
    ...(status === 'running' ? [] : summarise({ ...view, status })),
    ...(status === 'running' && usageText(totalUsage(view)) ? [`  used ${usageText(totalUsage(view))}`] : []),
    '',
    ...renderIterations(records),
  ];
};

/** A process that was killed saves no reason, and neither does one that could not write. */
const endText = ({ error }: RunView): string =>
  error ? `ended by an error: ${oneLine(error)}` : 'the process is gone: it was killed, or could not save why it ended';

/** Describes the last run of a change in one line. */
export const describeLastRun = (lastRun: ChangeOverview['lastRun']): string => {
  if (lastRun === null) return 'never';
  if (lastRun.startedAt === null) return lastRun.status;
  return `${statusText(lastRun)}, iteration ${lastRun.iteration}, ${localTime(lastRun.endedAt ?? lastRun.startedAt)}`;
};

const statusText = ({ status, landed }: NonNullable<ChangeOverview['lastRun']>): string => {
  if (landed === null || status === 'running') return status;
  if (landed) return status === 'complete' ? 'landed' : `${status}, landed`;
  return `${status}, not landed`;
};

const iterationColumns: readonly Column<IterationRecord>[] = [
  { title: 'iteration', numeric: true, value: ({ iteration }) => String(iteration) },
  { title: 'outcome', value: outcome },
  { title: 'duration', numeric: true, value: ({ durationMs }) => duration(durationMs) },
  {
    title: 'exit code',
    numeric: true,
    value: ({ exitCode, signal }) => (exitCode === null ? (signal ?? '-') : String(exitCode)),
  },
  {
    title: 'completion found',
    value: ({ completionFound, rejected }) => (completionFound ? 'yes' : rejected === null ? 'no' : 'rejected'),
  },
  { title: 'files', numeric: true, value: ({ git }) => (git === null ? '-' : String(git.filesChanged)) },
  { title: 'lines', value: ({ git }) => (git === null ? '-' : lineChanges(git)) },
  { title: 'commit', value: ({ commit }) => commit?.slice(0, 8) ?? '-' },
  { title: 'tokens', numeric: true, value: ({ usage }) => tokensOf(usage ?? unknownUsage) },
  { title: 'cost', numeric: true, value: ({ usage }) => costOf(usage ?? unknownUsage) },
];

const renderIterations = (records: readonly IterationRecord[]): string[] => {
  if (records.length === 0) return ['  No iterations yet.'];
  const lines = titledTable(iterationColumns, records);
  const problems = records
    .filter((record) => record.error !== null)
    .map((record) => `  iteration ${record.iteration}: ${oneLine(record.error?.message ?? '')}`);
  return [...lines.map((line) => `  ${line}`), ...(problems.length > 0 ? ['', ...problems] : [])];
};
