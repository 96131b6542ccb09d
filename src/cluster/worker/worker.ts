import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { userError } from '../../errors.ts';
import { createFolder } from '../../files/folders.ts';
import { acquireLock, beatMs } from '../../store/lock.ts';
import { type Claimant, claimNext } from '../claims.ts';
import type { Claim } from '../change-row.ts';
import { endLeftoverAgents, removeLeftoverClones } from '../leftover-clones.ts';
import { newCounters, serveMetrics } from '../metrics.ts';
import { pollDelayMs, wakeDelayMs } from '../pace.ts';
import { bookLeftovers } from '../unbooked.ts';
import { createWake } from '../wake.ts';
import { createLeases } from './leases.ts';
import type { WorkerOptions } from './options.ts';
import { registerName } from './registration.ts';
import { openRepositories, type Repository } from './repositories.ts';
import { createSlots } from './slots.ts';

/** How long a worker takes nothing after a problem of its machine. */
const pauseAfterProblemMs = 60_000;
/** How long a worker that exits tries to book what its agents have spent. */
const bookingMs = 10_000;

/** Takes changes from the queue and runs them until it is drained. */
export const runWorker = async (options: WorkerOptions): Promise<void> => {
  const { database, name, leaseMs, drain, stop, log } = options;
  const lock = lockFolder(options);
  const repositories = await openRepositories(options);
  await cleanUpAfterKill(options, repositories);
  await registerName(options, lock.id).catch((error: unknown) => {
    lock.release();
    throw error;
  });
  const counters = newCounters();
  const wake = createWake();
  const pause = createPause(log);
  const slots = createSlots(options, { repositories, counters, onMachineProblem: pause.begin, onFree: wake.now });
  const leases = createLeases(options, { instance: lock.id, slots, onNameLost: wake.now });
  const status = () => ({
    slots: options.slots,
    used: slots.running().length,
    silentMs: leases.silentMs(),
    leaseMs,
    draining: drain.aborted,
  });
  const metrics =
    options.metrics && (await serveMetrics({ address: options.metrics, database, worker: name, counters, status }));
  if (metrics !== null) log(`metrics: ${metrics.url}`);
  leases.start();
  const beating = setInterval(() => lock.beat(), beatMs);
  const handBackAll = (when: 'after-iteration' | 'now') => () => {
    slots.running().forEach((attempt) => attempt.handBack(when));
    wake.now();
  };
  database.listen({
    spool_queue: () => wake.after(wakeDelayMs(leases.workers())),
    spool_inbox: () => slots.running().forEach((attempt) => attempt.readRequests()),
  });
  drain.addEventListener('abort', handBackAll('after-iteration'));
  stop.addEventListener('abort', handBackAll('now'));
  const canTakeMore = () =>
    slots.running().length < options.slots && leases.silentMs() <= leaseMs / 2 && !pause.isActive();

  try {
    while (!drain.aborted && !stop.aborted && !leases.hasLostName()) {
      const claim = canTakeMore() ? await tryToClaim(options, [...repositories.keys()]) : null;
      if (claim !== null) slots.start(claim);
      else await wake.within(pollDelayMs({ workers: leases.workers(), leaseMs }));
    }
    const left = slots.running().length;
    log(left === 0 ? 'nothing is running' : `finishing ${left} iterations`);
    await slots.ended();
    if (leases.hasLostName()) throw userError('worker-name-taken', name, 'another machine');
    await Promise.race([slots.booked(), delay(bookingMs, undefined, { ref: false })]);
  } finally {
    clearInterval(beating);
    await leases.stop();
    metrics?.close();
    await database.query('delete from spool.worker where name = $1 and instance = $2', [name, lock.id]).catch(() => {});
    lock.release();
  }
};

const lockFolder = ({ folder, name }: WorkerOptions) => {
  createFolder(folder);
  const lock = acquireLock(join(folder, 'lock'), `worker ${name}`);
  if (lock.kind === 'taken') throw userError('worker-running', name, lock.by.pid);
  return lock;
};

/** Ends, books and deletes what an earlier worker with the same folder has left. */
const cleanUpAfterKill = async (
  { database, env }: WorkerOptions,
  repositories: ReadonlyMap<string, Repository>,
): Promise<void> => {
  for (const [project, { folders }] of repositories) {
    await endLeftoverAgents(folders);
    await bookLeftovers(database, folders);
    await removeLeftoverClones(database, { folders, project }, env);
  }
};

const tryToClaim = async (options: WorkerOptions, projects: Claimant['projects']): Promise<Claim | null> => {
  try {
    return await claimNext(options.database, { ...options, projects });
  } catch (error) {
    options.log(`cannot take a change: ${(error as Error).message}`);
    await delay(1000);
    return null;
  }
};

/** Otherwise a machine with a full disk would take one change after another. */
const createPause = (log: (line: string) => void) => {
  let endMs = 0;
  return {
    begin: (why: string): void => {
      log(`taking no changes for ${Math.round(pauseAfterProblemMs / 1000)}s: ${why}`);
      endMs = performance.now() + pauseAfterProblemMs;
    },
    isActive: () => performance.now() < endMs,
  };
};
