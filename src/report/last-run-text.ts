import { dayTime } from '../text/format.ts';
import type { ChangeRow } from './read-change-rows.ts';
import { endWord } from './run-end.ts';

/** Describes the last run of a change in one line. */
export const describeLastRun = (lastRun: ChangeRow['lastRun']): string => {
  if (lastRun === null) return 'never';
  if (lastRun.startedAt === null) return lastRun.status;
  return `${statusText({ ...lastRun, status: endWord(lastRun.status) })}, iteration ${lastRun.iteration}, ${dayTime(new Date(lastRun.endedAt ?? lastRun.startedAt))}`;
};

/** `complete`, `landed`, `interrupted, not landed`, `paused`. */
export const statusText = ({ status, phase, landed }: NonNullable<ChangeRow['lastRun']>): string => {
  if (status === 'running') return phase ?? status;
  if (landed === null) return status;
  if (landed) return status === 'complete' ? 'landed' : `${status}, landed`;
  return `${status}, not landed`;
};
