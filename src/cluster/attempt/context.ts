import type { FlagValues } from '../../config/flags.ts';
import type { Remote } from '../../git/remote.ts';
import type { Claim } from '../change-row.ts';
import type { Held } from '../claims.ts';
import type { WorkerFolders } from '../clone.ts';
import type { Database } from '../database.ts';
import type { Counters } from '../metrics.ts';
import type { Stopping } from './stopping.ts';

export interface AttemptOptions {
  readonly database: Database;
  readonly remote: Remote;
  readonly folders: WorkerFolders;
  readonly claim: Claim;
  /** The name of this machine. */
  readonly host: string;
  readonly leaseMs: number;
  /** How often the files are pushed while an agent works. */
  readonly publishUnfinishedMs: number;
  readonly env: NodeJS.ProcessEnv;
  /** Variables that agents and commands do not get. */
  readonly withheld: readonly string[];
  /** Files with credentials of the worker. */
  readonly secrets: readonly string[];
  /** Settings of the worker, which override those of the queue. */
  readonly settings: FlagValues;
  readonly log: (line: string) => void;
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
