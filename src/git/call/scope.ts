import { AsyncLocalStorage } from 'node:async_hooks';

/** When git has to end because its run or command ends. */
export interface GitDeadline {
  /** Aborted when the time is up. A running command may finish, unless it takes too long. */
  readonly stop: AbortSignal;
  /** Aborted when running commands must be killed. */
  readonly kill: AbortSignal;
  /** How long a command may take after `stop`. */
  graceMs(): number;
}

/** Returns the reason why git must not be run any more; null while it may be. */
export type GitGuard = () => Promise<string | null>;

/** State shared by the git commands of one run. It follows asynchronous calls, so that no other run sees it. */
interface GitScope {
  readonly deadlines: Set<GitDeadline>;
  /** The duration of the slowest command so far. */
  longestMs: number;
  /** A command was ended because it timed out. */
  isUnresponsive: boolean;
  /** Called before every command. */
  readonly guards: GitGuard[];
  /** Roots of work trees whose settings have a guard. */
  readonly guardedTrees: Set<string>;
  /** What was in the git folders before anything ran in a sandbox. */
  readonly linksBefore: LinksBefore;
}

interface LinksBefore {
  /** The folders that were searched for symbolic links. */
  readonly searched: Set<string>;
  /** The targets of the links that were found, by path. */
  readonly found: Map<string, string>;
}

const scopes = new AsyncLocalStorage<GitScope>();

type Shared = Pick<GitScope, 'guards' | 'guardedTrees' | 'linksBefore'>;

const createScope = ({ guards, guardedTrees, linksBefore }: Shared): GitScope => ({
  deadlines: new Set(),
  longestMs: 0,
  isUnresponsive: false,
  guards,
  guardedTrees,
  linksBefore,
});

const newScope = () =>
  createScope({ guards: [], guardedTrees: new Set(), linksBefore: { searched: new Set(), found: new Map() } });

/** The scope of commands that start no run: they have the process to themselves. */
const commandScope = newScope();

export const currentGitScope = (): GitScope => scopes.getStore() ?? commandScope;

/**
 * Calls `work` with separate deadlines. A nested call, such as a run of a batch, shares the guards and the known
 * links of the outer one: a run must not trust what the agent of another run in the same repository has changed.
 */
export const withGitScope = <Result>(work: () => Result): Result => {
  const outer = scopes.getStore();
  return scopes.run(outer ? createScope(outer) : newScope(), work);
};
