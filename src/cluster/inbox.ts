import type { ControlCommand } from '../ralph/control.ts';
import { addContext, clearContext } from '../store/added-context.ts';
import type { ChangeRef } from '../store/change-ref.ts';
import type { Held } from './claims.ts';
import type { Sql } from './database.ts';

/** What a person sends to the owner of a change. */
export interface Message {
  readonly seq: number;
  readonly kind: ControlCommand | 'context' | 'clear-context';
  readonly body: string;
}

/** Reads the messages that this owner has not handled yet, oldest first. */
export const readInbox = (sql: Sql, { project, id }: Held, after: number): Promise<Message[]> =>
  sql.query<{ seq: number; kind: Message['kind']; body: string }>(
    `select seq, kind, body from spool.inbox
     where project = $1 and change = $2 and taken_at is null and seq > $3 order by seq limit 100`,
    [project, id, after],
  );

/** Adds the text of a message to the context of a run. Returns false for any other message. */
export const applyContext = (of: ChangeRef, { kind, body }: Message): boolean => {
  if (kind === 'context') addContext(of, body);
  else if (kind === 'clear-context') clearContext(of);
  else return false;
  return true;
};

/** Called when the state with these texts is on the remote: a later owner finds them there. */
export const confirmContext = (sql: Sql, { project, id, epoch }: Held, upTo: number): Promise<unknown> =>
  sql.query(
    `update spool.inbox set taken_at = now(), taken_epoch = $3
     where project = $1 and change = $2 and seq <= $4 and taken_at is null and kind in ('context', 'clear-context')`,
    [project, id, epoch, upTo],
  );
