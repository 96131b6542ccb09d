import type { Row } from '../../api.ts';
import type { ShownStatus } from '../parts/status.tsx';
import type { GroupName } from '../route.ts';

const groupOf = (row: Row): GroupName => {
  if (row.attention !== null) return 'attention';
  if (row.status === 'running') return 'running';
  if (row.status === 'queued') return 'queued';
  return row.status === 'none' ? 'idle' : 'finished';
};

/** In the order in which the server lists them. */
export const groupsOf = (rows: readonly Row[]): Record<GroupName, readonly Row[]> => {
  const groups: Record<GroupName, Row[]> = { attention: [], running: [], queued: [], finished: [], idle: [] };
  for (const row of rows) groups[groupOf(row)].push(row);
  return groups;
};

export const shownStatus = ({ status, phase }: Row): ShownStatus => phase ?? status;
