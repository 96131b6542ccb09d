import { dayTime } from '../text/format.ts';
import type { ChangeOverview } from './overview.ts';
import { endWord } from './run-end.ts';

/** Describes the last run of a change in one line. */
export const describeLastRun = (lastRun: ChangeOverview['lastRun']): string => {
  if (lastRun === null) return 'never';
  if (lastRun.startedAt === null) return lastRun.status;
  return `${statusText({ ...lastRun, status: endWord(lastRun.status) })}, iteration ${lastRun.iteration}, ${dayTime(new Date(lastRun.endedAt ?? lastRun.startedAt))}`;
};

/** `complete`, `landed`, `interrupted, not landed`, `paused`. */
export const statusText = ({ status, phase, landed }: NonNullable<ChangeOverview['lastRun']>): string => {
  if (status === 'running') return phase ?? status;
  if (landed === null) return status;
  if (landed) return status === 'complete' ? 'landed' : `${status}, landed`;
  return `${status}, not landed`;
};
