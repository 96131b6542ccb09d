import { AsyncLocalStorage } from 'node:async_hooks';

/** When git has to end, because the run or command that it works for does. */
export interface GitDeadline {
  /** Aborted when no time is left. A command that runs may finish, unless it takes too long. */
  readonly stop: AbortSignal;
  /** Aborted when commands that run are no longer waited for. */
  readonly kill: AbortSignal;
  /** How long a command may take after `stop`. */
  graceMs(): number;
}

/** Returns the reason why git must not be run any more; null while it may. */
export type GitGuard = () => Promise<string | null>;

/** What the git commands of one run share. It travels with the asynchronous calls, so that no other run sees it. */
interface GitScope {
  readonly deadlines: Set<GitDeadline>;
  /** The longest time that a command has taken. */
  longestMs: number;
  /** A command was ended because it did not finish in time. */
  isUnresponsive: boolean;
  /** Asked before every command. */
  readonly guards: GitGuard[];
  /** Roots of work trees whose settings have a guard. */
  readonly guardedTrees: Set<string>;
}

const scopes = new AsyncLocalStorage<GitScope>();

const createScope = ({ guards, guardedTrees }: Pick<GitScope, 'guards' | 'guardedTrees'>): GitScope => ({
  deadlines: new Set(),
  longestMs: 0,
  isUnresponsive: false,
  guards,
  guardedTrees,
});

const newScope = () => createScope({ guards: [], guardedTrees: new Set() });

/** That of a command that starts no run: it has the process to itself. */
const commandScope = newScope();

export const currentGitScope = (): GitScope => scopes.getStore() ?? commandScope;

/**
 * Calls `work` with deadlines of its own. Inside of another call, such as that of a batch, it shares the guards of that
 * one: a run must not trust what the agent of an earlier run in the same work tree has changed.
 */
export const withGitScope = <Result>(work: () => Result): Result => {
  const outer = scopes.getStore();
  return scopes.run(outer ? createScope(outer) : newScope(), work);
};
