import { currentGitScope, type GitDeadline } from './scope.ts';

/** How long a command that starts after `kill` may take, so that finished work is still recorded. */
const afterKillMs = 2000;

/** The minimum grace for a hook of the user: it may run all tests. */
const hookGraceMs = 60_000;

/** Applies to every git command of the current run or command, until the returned function is called. */
export const limitGit = (deadline: GitDeadline): (() => void) => {
  const scope = currentGitScope();
  scope.deadlines.add(deadline);
  return () => {
    scope.deadlines.delete(deadline);
    if (scope.deadlines.size === 0) scope.isUnresponsive = false;
  };
};

/** Returns the reason why git is no longer called; null while it is. */
export const whyUnresponsive = (): string | null => (currentGitScope().isUnresponsive ? 'git does not respond' : null);

/**
 * Calls `end` when a command that starts now must be ended. Call the returned function when the command has exited. If
 * there are several deadlines, the latest one counts. A slow repository gets more time.
 */
export const watchDeadline = ({ hooks, end }: { hooks: boolean; end: () => void }): (() => void) => {
  const scope = currentGitScope();
  const began = performance.now();
  const watched = [...scope.deadlines];
  let timer: NodeJS.Timeout | undefined;
  const giveUp = () => {
    // A command with hooks may hang because of a hook, not because of git.
    if (!hooks) scope.isUnresponsive = true;
    end();
  };
  const isKilled = () => watched.some(({ kill }) => kill.aborted);
  const beganKilled = isKilled();
  const look = () => {
    if (isKilled() && !beganKilled) return giveUp();
    if (isKilled()) {
      timer ??= setTimeout(giveUp, afterKillMs);
      return;
    }
    if (watched.length === 0 || !watched.every(({ stop }) => stop.aborted)) return;
    const graceMs = Math.max(...watched.map((deadline) => deadline.graceMs()), hooks ? hookGraceMs : 0);
    timer ??= setTimeout(giveUp, graceMs === 0 ? 0 : graceMs + 2 * scope.longestMs);
  };
  for (const signal of watched.flatMap(({ stop, kill }) => [stop, kill])) signal.addEventListener('abort', look);
  look();
  return () => {
    clearTimeout(timer);
    if (!scope.isUnresponsive) scope.longestMs = Math.max(scope.longestMs, performance.now() - began);
    for (const signal of watched.flatMap(({ stop, kill }) => [stop, kill])) signal.removeEventListener('abort', look);
  };
};
