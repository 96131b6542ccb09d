import { recoverFences } from '../../cluster/recover.ts';
import { answer, say } from '../../report/message.ts';
import { findProject } from '../../store/project.ts';
import { safeJson } from '../../text/controls.ts';
import type { Invocation } from '../registry/command.ts';
import { repositoryAt, withQueue } from '../with-queue/queue.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const { rawFlags, cwd, terminal } = invocation;
  const repository = await repositoryAt(findProject(cwd).root, invocation);
  return withQueue(invocation, 'spool queue recover', async (database) => {
    const { changes, skipped } = await recoverFences(database, repository);
    if (rawFlags.json) terminal.printResult(`${safeJson({ changes, skipped })}\n`);
    else answer(terminal, textOf(changes, skipped));
    if (skipped.length > 0)
      say(
        terminal,
        `Not changed, because workers are running them: ${skipped.join(', ')}. Stop all workers to recover them.`,
      );
    return 0;
  });
};

const textOf = (changes: readonly string[], skipped: readonly string[]): string => {
  if (changes.length > 0) return `Workers continue from what the remote has: ${changes.join(', ')}.`;
  return skipped.length > 0 ? 'Nothing was recovered.' : 'The database knows everything that the remote has.';
};
