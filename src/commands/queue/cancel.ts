import { hostname } from 'node:os';
import { matchId } from '../../changes/ids.ts';
import { listQueue, sendMessage, type Sent } from '../../cluster/queue.ts';
import { userError } from '../../errors.ts';
import { answer, say } from '../../report/message.ts';
import { findProject } from '../../store/project.ts';
import { safeJson } from '../../text/controls.ts';
import type { Invocation } from '../registry/command.ts';
import { repositoryAt, senderOf, withQueue } from '../with-queue/queue.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const { args, rawFlags, cwd, env, terminal } = invocation;
  const { project } = await repositoryAt(findProject(cwd).root, invocation);
  return withQueue(invocation, 'spool queue cancel', async (database) => {
    const ids = (await listQueue(database, [project])).map(({ id }) => id);
    const by = senderOf(env, hostname());
    for (const query of args) {
      const match = matchId(query, ids);
      if (match.kind !== 'one') throw userError('not-queued', query);
      const sent = await sendMessage(database, { project, id: match.id, kind: 'stop', by });
      if (rawFlags.json) terminal.print(`${safeJson({ change: match.id, outcome: sent.kind })}\n`);
      else if (sent.kind === 'nothing') say(terminal, textOf(sent));
      else answer(terminal, textOf(sent));
    }
    return 0;
  });
};

const textOf = ({ kind, row }: Sent): string => {
  if (kind === 'done') return `${row.id} was removed from the queue.`;
  if (kind === 'sent') return `${row.id} is being stopped on ${row.host ?? 'its worker'}.`;
  return `${row.id} is not queued: it is ${row.state}.`;
};
