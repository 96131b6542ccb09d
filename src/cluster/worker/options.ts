import type { FlagValues } from '../../config/flags.ts';
import type { Database } from '../database.ts';

export interface WorkerOptions {
  readonly database: Database;
  readonly name: string;
  /** The name of this machine. */
  readonly host: string;
  readonly slots: number;
  readonly labels: readonly string[];
  /** `project` is the key of the repository in the queue. */
  readonly repositories: readonly { readonly project: string; readonly url: string }[];
  readonly leaseMs: number;
  /** How often the files are pushed while an agent works. */
  readonly publishUnfinishedMs: number;
  /** Where mirrors and clones are. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Variables that agents and commands do not get. */
  readonly withheld: readonly string[];
  /** Files with credentials of the worker. */
  readonly secrets: readonly string[];
  /** Settings of the worker, which override those of the queue. */
  readonly settings: FlagValues;
  /** Where to serve metrics; null for nowhere. */
  readonly metrics: { readonly host: string; readonly port: number } | null;
  readonly log: (line: string) => void;
  /** Aborted to finish the running iterations and exit. */
  readonly drain: AbortSignal;
  /** Aborted to stop the agents and exit. */
  readonly stop: AbortSignal;
}
