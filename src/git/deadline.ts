/** When git has to come to an end, because what it works for does. */
export interface GitDeadline {
  /** Aborted when there is no time left: git may finish what it does, if that does not take long. */
  readonly stop: AbortSignal;
  /** Aborted when what runs is not waited for any more. */
  readonly kill: AbortSignal;
  /** How long a command may take from then on. */
  graceMs(): number;
}

const hurries = new Set<GitDeadline>();
let longestMs = 0;
let isGivenUp = false;

/** How long a command may take that begins afterwards: what was done is still recorded. */
const afterKillMs = 2000;

/** A hook of the user's may check a commit with all tests: it has at least this long. */
const hookGraceMs = 60_000;

/** Holds for every git command until the function that it answers with is called. */
export const limitGit = (hurry: GitDeadline): (() => void) => {
  hurries.add(hurry);
  return () => {
    hurries.delete(hurry);
    if (hurries.size === 0) isGivenUp = false;
  };
};

/** The reason why git is not asked any more; null while it is. */
export const whyUnresponsive = (): string | null => (isGivenUp ? 'git does not answer' : null);

/**
 * Calls `end` when a command that begins now must be ended; the function that it answers with is called at its end.
 * Where several runs have an end of their own, the last one counts. A slow repository is given more time.
 */
export const watchDeadline = ({ hooks, end }: { hooks: boolean; end: () => void }): (() => void) => {
  const began = performance.now();
  const watched = [...hurries];
  let timer: NodeJS.Timeout | undefined;
  const giveUp = () => {
    // What hangs then is the hook, and not git.
    isGivenUp ||= !hooks;
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
    const graceMs = Math.max(...watched.map((hurry) => hurry.graceMs()), hooks ? hookGraceMs : 0);
    timer ??= setTimeout(giveUp, graceMs === 0 ? 0 : graceMs + 2 * longestMs);
  };
  for (const signal of watched.flatMap(({ stop, kill }) => [stop, kill])) signal.addEventListener('abort', look);
  look();
  return () => {
    clearTimeout(timer);
    if (!isGivenUp) longestMs = Math.max(longestMs, performance.now() - began);
    for (const signal of watched.flatMap(({ stop, kill }) => [stop, kill])) signal.removeEventListener('abort', look);
  };
};
