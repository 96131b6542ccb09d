import { phaseOf } from '../../../ralph/view.ts';
import type { RunDetail } from '../../api.ts';
import type { ShownStatus } from '../parts/status.tsx';

/** A run that is running may be paused, wait for a usage limit, or be about to stop. */
export const shownRunStatus = ({ status, view }: Pick<RunDetail, 'status' | 'view'>): ShownStatus => {
  if (status !== 'running' || view === null) return status;
  return phaseOf({ ...view, status }) ?? status;
};
