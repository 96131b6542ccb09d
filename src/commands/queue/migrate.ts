import { openDatabase } from '../../cluster/database.ts';
import { migrate } from '../../cluster/migrations.ts';
import { answer } from '../../report/message.ts';
import { safeJson } from '../../text/controls.ts';
import type { Invocation } from '../registry/command.ts';
import { requireQueue } from '../with-queue/queue.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const { rawFlags, terminal } = invocation;
  const database = await openDatabase(await requireQueue(invocation, 'spool queue migrate'));
  try {
    const { from, to } = await migrate(database);
    if (rawFlags.json) terminal.printResult(`${safeJson({ from, to })}\n`);
    else
      answer(
        terminal,
        from === to
          ? `The tables are up to date (version ${to}).`
          : `The tables now have version ${to} (were ${from}).`,
      );
    return 0;
  } finally {
    await database.close();
  }
};
