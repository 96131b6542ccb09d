import { treeOf } from '../../git/checkpoint.ts';
import type { CommitStore } from '../../git/commit-store.ts';
import { recordedCheckpoints } from '../../store/user-state/checkpoints.ts';

/** The files before the first agent worked on the change, as far back as checkpoints are kept; null if none is. */
export const firstCheckpoint = async (store: CommitStore, userState: string): Promise<string | null> => {
  for (const { name, commit } of recordedCheckpoints(userState))
    if (name === '0' && (await treeOf(store, commit)) !== null) return commit;
  return null;
};
