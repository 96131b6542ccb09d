import { recoverFences } from '../../cluster/recover.ts';
import { answer } from '../../report/message.ts';
import { findProject } from '../../store/project.ts';
import { safeJson } from '../../text/controls.ts';
import type { Invocation } from '../shared/command.ts';
import { repositoryAt, withQueue } from '../shared/queue.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const { rawFlags, cwd, terminal } = invocation;
  const repository = await repositoryAt(findProject(cwd).root, invocation);
  return withQueue(invocation, 'spool queue recover', async (database) => {
    const changes = await recoverFences(database, repository);
    if (rawFlags.json) terminal.printResult(`${safeJson({ changes })}\n`);
    else
      answer(
        terminal,
        changes.length === 0
          ? 'The database knows everything that the remote has.'
          : `Workers continue from what the remote has: ${changes.join(', ')}.`,
      );
    return 0;
  });
};
