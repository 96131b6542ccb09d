import { whyBlocked } from './blocked.ts';
import { whyUnresponsive } from './deadline.ts';
import { currentGitScope, type GitGuard } from './scope.ts';

/** Calls `guard` before every further git command of the current run or command. */
export const guardGit = (guard: GitGuard): void => void currentGitScope().guards.push(guard);

/** Returns the reason why git is not run in this folder any more; null while it is. */
export const whyNoGit = async (cwd: string): Promise<string | null> => {
  const problem = whyUnresponsive() ?? whyBlocked(cwd);
  if (problem !== null) return problem;
  for (const guard of currentGitScope().guards) {
    const why = await guard();
    if (why !== null) return why;
  }
  return null;
};
