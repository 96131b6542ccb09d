import { setTimeout as delay } from 'node:timers/promises';
import { userError } from '../../errors.ts';
import { version } from '../../text/version.ts';
import type { WorkerOptions } from './options.ts';

/**
 * Registers the worker under its name, or waits until a worker that had the name is silent for longer than its lease.
 * Throws if that worker is alive.
 */
export const registerName = async (options: WorkerOptions, instance: string): Promise<void> => {
  const { database, name } = options;
  let seenFirst: Date | null = null;
  while ((await register(options, instance)) === null) {
    const [other] = await database.query<{ host: string; seen_at: Date }>(
      'select host, seen_at from spool.worker where name = $1',
      [name],
    );
    if (other === undefined) continue;
    seenFirst ??= other.seen_at;
    if (other.seen_at.getTime() !== seenFirst.getTime()) throw userError('worker-name-taken', name, other.host);
    await delay(200);
  }
};

/**
 * Returns the number of workers; null if another one has the name. The lock of the folder proves that a worker which was
 * registered with this folder is dead.
 */
export const register = async (
  { database, name, host, slots, labels, repositories, leaseMs, drain, folder }: WorkerOptions,
  instance: string,
): Promise<{ readonly workers: number } | null> => {
  const [registered] = await database.query<{ workers: number }>(
    `insert into spool.worker as w (name, host, version, slots, labels, projects, lease_ms, draining, instance, folder)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (name) do update set host = $2, version = $3, slots = $4, labels = $5, projects = $6, lease_ms = $7,
       draining = $8, instance = $9, folder = $10, seen_at = now(),
       started_at = case when w.instance = $9 then w.started_at else now() end
     where w.instance = $9 or (w.host = $2 and w.folder = $10)
       or w.seen_at < now() - w.lease_ms * interval '1 millisecond'
     returning (select greatest(1, count(*)) from spool.worker) as workers`,
    [
      name,
      host,
      version,
      slots,
      labels,
      repositories.map(({ project }) => project),
      leaseMs,
      drain.aborted,
      instance,
      folder,
    ],
  );
  return registered ?? null;
};
