import type { RunDetail } from '../../api.ts';
import type { ShownStatus } from '../parts/status.tsx';

/** A run that is running may be paused, or wait for a usage limit. */
export const shownRunStatus = ({ status, view }: Pick<RunDetail, 'status' | 'view'>): ShownStatus => {
  if (status !== 'running') return status;
  if (view?.pausedAt) return 'paused';
  return view?.waiting ? 'waiting' : 'running';
};
