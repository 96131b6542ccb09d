import { type IterationRecord, unknownUsage } from '../ralph/events.ts';
import type { ChangeOverview } from './overview.ts';
import { totalUsage } from '../ralph/usage.ts';
import { currentStatus, type RunView } from '../ralph/view.ts';
import { summarise } from './summary.ts';
import { lineChanges, duration, localTime, table } from '../text/format.ts';
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
    ...(status === 'interrupted' && view.status === 'running' ? ['  the process died unexpectedly'] : []),
    `  run ${view.run}, ${view.harness}${view.model === null ? '' : ` (${view.model})`}, started ${localTime(view.startedAt)}`,
    ...(status === 'running' ? [] : summarise({ ...view, status })),
    ...(status === 'running' && usageText(totalUsage(view)) ? [`  used ${usageText(totalUsage(view))}`] : []),
    '',
    ...renderIterations(records),
  ];
};

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

const renderIterations = (records: readonly IterationRecord[]): string[] => {
  if (records.length === 0) return ['  No iterations yet.'];
  const rows = records.map((record) => [
    String(record.iteration),
    outcome(record),
    duration(record.durationMs),
    record.exitCode === null ? (record.signal ?? '-') : String(record.exitCode),
    record.completionFound ? 'yes' : record.rejected === null ? 'no' : 'rejected',
    record.git === null ? '-' : String(record.git.filesChanged),
    record.git === null ? '-' : lineChanges(record.git),
    record.commit?.slice(0, 8) ?? '-',
    tokensOf(record.usage ?? unknownUsage),
    costOf(record.usage ?? unknownUsage),
  ]);
  const head = [
    'iteration',
    'outcome',
    'duration',
    'exit code',
    'completion found',
    'files',
    'lines',
    'commit',
    'tokens',
    'cost',
  ];
  const lines = table([head, ...rows], [0, 2, 3, 5, 8, 9]);
  const problems = records
    .filter((record) => record.error !== null)
    .map((record) => `  iteration ${record.iteration}: ${oneLine(record.error?.message ?? '')}`);
  return [...lines.map((line) => `  ${line}`), ...(problems.length > 0 ? ['', ...problems] : [])];
};
