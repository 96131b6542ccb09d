import type { Verdict } from './observe-iteration.ts';
import type { IterationRecord } from './record.ts';

export const unreadContext = 'context was added after the iteration started';

/**
 * Rejects the verdict of an agent, done or blocked, if people have added context that its prompt did not have: the next
 * iteration reads it. `current` identifies the context as it is now; null means that there is none, as after
 * --clear-context, and then nothing is unread.
 */
export const rejectUnread = <Judged extends Verdict & Pick<IterationRecord, 'context'>>(
  verdict: Judged,
  current: string | null,
): Judged => {
  const { completionFound, blocked, context } = verdict;
  const isUnread = context !== undefined && current !== null && current !== context;
  if (!isUnread || (!completionFound && blocked === null)) return verdict;
  const rejected = blocked === null ? unreadContext : `${unreadContext}; the agent had given up: ${blocked}`;
  return { ...verdict, completionFound: false, evidence: null, blocked: null, rejected };
};

export const wasUnread = ({ rejected }: Pick<IterationRecord, 'rejected'>): boolean =>
  rejected?.startsWith(unreadContext) ?? false;
