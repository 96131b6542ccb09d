import type { Claim } from './change-row.ts';
import type { Sql } from './database.ts';

export interface AnnouncedFence {
  readonly fence: string;
  /** null if the branch stays as it is. */
  readonly tip: string | null;
  /** What the remote has now. */
  readonly before: { readonly fence: string | null; readonly tip: string | null };
}

/** Says in the database what is about to be pushed. Returns false if another worker owns the change. */
export const announceFence = async (
  sql: Sql,
  claim: Claim,
  { fence, tip, before }: AnnouncedFence,
): Promise<boolean> => {
  const rows = await sql.query(
    `update spool.change set fence = $4, next_fence = $5, tip = $6, next_tip = $7, updated_at = now(),
       open_fences = array_append(array_remove(open_fences, $5), $5)
     where project = $1 and id = $2 and epoch = $3 and state = 'running' returning id`,
    [claim.project, claim.id, claim.epoch, before.fence, fence, before.tip, tip ?? before.tip],
  );
  return rows.length > 0;
};

/**
 * Says in the database that what was announced is on the remote. If it cannot be told, the next announcement does.
 * Everything that was announced before expects another fence on the remote, so it cannot be pushed any more.
 */
export const confirmFence = async (sql: Sql, claim: Claim): Promise<void> => {
  await sql
    .query(
      `update spool.change set fence = next_fence, tip = next_tip, open_fences = '{}'
       where project = $1 and id = $2 and epoch = $3`,
      [claim.project, claim.id, claim.epoch],
    )
    .catch(() => {});
};
