import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { userError } from '../errors.ts';
import { removeSafely } from '../files/safe.ts';
import { readRemoteRefs, type Remote } from '../git/remote.ts';
import { openMirror } from '../git/mirror.ts';
import type { Database } from './database.ts';
import { fenceRef } from './fence.ts';
import { type ListedChange, listQueue } from './queue.ts';

export interface Recovered {
  /** The changes whose fence was another one. */
  readonly changes: readonly string[];
  /** Those that workers run now, which are left as they are. */
  readonly skipped: readonly string[];
}

/**
 * Tells a database that was restored from a backup which fences the remote has. Workers continue only what a worker has
 * announced, and the announcements after the backup are lost.
 */
export const recoverFences = async (
  database: Database,
  { project, url }: { readonly project: string; readonly url: string },
): Promise<Recovered> => {
  const all = await listQueue(database, [project]);
  const isHeld = ({ state, is_silent: isSilent }: ListedChange) => state === 'running' && !isSilent;
  const changes = all.filter((change) => !isHeld(change));
  const found = await fencesOn(
    url,
    changes.map(({ id }) => id),
  );
  const recovered: string[] = [];
  for (const { id } of changes) {
    const fence = found.get(fenceRef(id));
    if (fence === undefined) continue;
    const rows = await database.query(
      `update spool.change set fence = $3, updated_at = now()
       where project = $1 and id = $2 and fence is distinct from $3 and not $3 = any(open_fences) returning id`,
      [project, id, fence],
    );
    if (rows.length > 0) recovered.push(id);
  }
  return { changes: recovered, skipped: all.filter(isHeld).map(({ id }) => id) };
};

const fencesOn = async (url: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> => {
  if (ids.length === 0) return new Map();
  const folder = mkdtempSync(join(tmpdir(), 'spool-recover-'));
  const remote: Remote = { mirror: join(folder, 'mirror.git'), url };
  try {
    const problem = await openMirror(remote, folder);
    if (problem !== null) throw userError('io', remote.mirror, problem);
    const read = await readRemoteRefs(remote, ids.map(fenceRef));
    if (!read.ok) throw userError('remote-unreachable', read.why);
    return read.refs;
  } finally {
    removeSafely(folder);
  }
};
