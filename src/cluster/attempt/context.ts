import type { Remote } from '../../git/remote.ts';
import type { Claim } from '../change-row.ts';
import type { Held } from '../claims.ts';
import type { WorkerFolders } from '../clone.ts';
import type { Counters } from '../metrics.ts';
import type { WorkerOptions } from '../worker/options.ts';
import type { Stopping } from './stopping.ts';

export interface AttemptOptions extends Pick<
  WorkerOptions,
  'database' | 'host' | 'leaseMs' | 'publishUnfinishedMs' | 'env' | 'withheld' | 'secrets' | 'settings' | 'log'
> {
  readonly remote: Remote;
  readonly folders: WorkerFolders;
  readonly claim: Claim;
  readonly counters: Counters;
  /** Called when this machine cannot run anything now, such as with a full disk. */
  readonly onMachineProblem: (why: string) => void;
  /** Resolves when this worker has ended its previous attempt at the change, which uses the same refs of the mirror. */
  readonly previous: Promise<void>;
}

/** What the parts of an attempt share. */
export interface AttemptContext extends AttemptOptions {
  readonly stopping: Stopping;
  /** Which change, with the current epoch: taking the fence may raise it. */
  readonly held: () => Held;
}
