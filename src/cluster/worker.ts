import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { FlagValues } from '../config/flags.ts';
import { userError } from '../errors.ts';
import { createFolder } from '../files/folders.ts';
import { type Remote } from '../git/remote.ts';
import { cleanMirror, openMirror } from '../git/mirror.ts';
import { shortHash } from '../changes/short-hash.ts';
import { acquireLock, beatMs } from '../store/lock.ts';
import { version } from '../text/version.ts';
import { type Attempt, startAttempt } from './attempt/attempt.ts';
import type { Claim } from './change-row.ts';
import { claimNext, type Held, renewClaims } from './claims.ts';
import type { WorkerFolders } from './clone.ts';
import type { Database } from './database.ts';
import { endLeftAgents, removeLeftClones } from './left-clones.ts';
import { newCounters, serveMetrics } from './metrics.ts';
import { pollDelayMs, wakeDelayMs } from './pace.ts';
import { bookLeft } from './unbooked.ts';

interface Repository {
  /** Its key in the queue. */
  readonly project: string;
  readonly url: string;
}

export interface WorkerOptions {
  readonly database: Database;
  readonly name: string;
  readonly host: string;
  readonly slots: number;
  readonly labels: readonly string[];
  readonly repositories: readonly Repository[];
  readonly leaseMs: number;
  /** How often the files are pushed while an agent works. */
  readonly checkpointMs: number;
  /** Where mirrors and clones are. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Variables that agents and commands do not get. */
  readonly withheld: readonly string[];
  /** Files with credentials of the worker. */
  readonly secrets: readonly string[];
  readonly settings: FlagValues;
  /** Where to serve metrics; null for nowhere. */
  readonly metrics: { readonly host: string; readonly port: number } | null;
  readonly log: (line: string) => void;
  /** Aborted to finish the running iterations and exit. */
  readonly drain: AbortSignal;
  /** Aborted to stop the agents and exit. */
  readonly stop: AbortSignal;
}

const deadlineMs = 200;
/** How long a worker takes nothing after a problem of its machine. */
const restMs = 60_000;
/** How long a worker that exits tries to book what its agents have spent. */
const bookingMs = 10_000;

/** Takes changes from the queue and runs them until it is drained. */
export const runWorker = async (options: WorkerOptions): Promise<void> => {
  const { database, name, slots, leaseMs, drain, stop, log } = options;
  const lock = lockFolder(options);
  const remotes = await openRemotes(options);
  for (const [project, { folders }] of remotes) {
    await endLeftAgents(folders);
    await bookLeft(database, folders);
    await removeLeftClones(database, { folders, project }, options.env);
  }
  await registerName(options, lock.id).catch((error: unknown) => {
    lock.release();
    throw error;
  });
  const running = new Set<Attempt>();
  const bookings = new Set<Promise<unknown>>();
  const counters = newCounters();
  const wake = createWake();
  /** When the last renewal that succeeded was sent. */
  let renewedMs = performance.now();
  /** Of the queue, this one included. */
  let workers = 1;

  /** When this machine may take changes again. */
  let restUntilMs = 0;

  let hasLostName = false;
  const metrics = options.metrics === null ? null : await openMetrics(options.metrics);

  const beat = async (): Promise<void> => {
    const sentMs = performance.now();
    const held = [...running].map((attempt) => ({ attempt, ...attempt.held() }));
    const registered = await register(options, lock.id);
    if (registered === null) return loseName();
    ({ workers } = registered);
    const kept = held.length === 0 ? [] : await renewClaims(database, options, held);
    renewedMs = sentMs;
    for (const { attempt, project, id } of held)
      if (!attempt.isSettling() && !kept.some((each) => each.project === project && each.id === id))
        attempt.lose('another worker has taken it, or its claim was ended');
  };
  const beating = every(leaseMs / 3, beat, (error) => log(`cannot renew the leases: ${(error as Error).message}`));
  // The claims end by themselves if the queue cannot be reached. Their agents must have ended before that.
  const deadline = setInterval(() => {
    const silentMs = performance.now() - renewedMs;
    if (silentMs <= (leaseMs * 2) / 3) return;
    for (const attempt of running) attempt.lose(`no contact with the queue for ${Math.round(silentMs / 1000)}s`);
  }, deadlineMs);
  const beatLock = setInterval(() => lock.beat(), beatMs);
  database.listen({
    spool_queue: () => wake.after(wakeDelayMs(workers)),
    spool_inbox: () => running.forEach((attempt) => attempt.look()),
  });
  drain.addEventListener('abort', () => {
    running.forEach((attempt) => attempt.handBack('after-iteration'));
    wake.now();
  });
  stop.addEventListener('abort', () => {
    running.forEach((attempt) => attempt.handBack('now'));
    wake.now();
  });

  try {
    while (!drain.aborted && !stop.aborted && !hasLostName) {
      const claim = canTakeMore() ? await tryToClaim() : null;
      if (claim === null) await wake.within(pollDelayMs({ workers, leaseMs }));
    }
    log(running.size === 0 ? 'nothing is running' : `finishing ${running.size} iterations`);
    await Promise.all([...running].map((attempt) => attempt.ended));
    if (hasLostName) throw userError('worker-name-taken', name, 'another machine');
    await Promise.race([Promise.all(bookings), delay(bookingMs, undefined, { ref: false })]);
  } finally {
    clearInterval(deadline);
    clearInterval(beatLock);
    await beating.stop();
    metrics?.close();
    await database.query('delete from spool.worker where name = $1 and instance = $2', [name, lock.id]).catch(() => {});
    lock.release();
  }

  /** This worker was silent for so long that another one has its name. */
  function loseName(): void {
    hasLostName = true;
    running.forEach((attempt) => attempt.lose('another worker has the name of this one'));
    wake.now();
  }

  async function openMetrics(address: NonNullable<WorkerOptions['metrics']>) {
    const status = () => ({
      slots,
      used: running.size,
      silentMs: performance.now() - renewedMs,
      leaseMs,
      draining: drain.aborted,
    });
    const server = await serveMetrics({ address, database, worker: name, counters, status });
    log(`metrics: ${server.url}`);
    return server;
  }

  function canTakeMore(): boolean {
    const isInTouch = performance.now() - renewedMs <= leaseMs / 2;
    return running.size < slots && isInTouch && performance.now() >= restUntilMs;
  }

  /** Otherwise a machine with a full disk would take one change after another. */
  function rest(why: string): void {
    log(`taking no changes for ${Math.round(restMs / 1000)}s: ${why}`);
    restUntilMs = performance.now() + restMs;
  }

  async function tryToClaim(): Promise<Claim | null> {
    try {
      const claim = await claimNext(database, { ...options, projects: [...remotes.keys()] });
      if (claim !== null) start(claim);
      return claim;
    } catch (error) {
      log(`cannot take a change: ${(error as Error).message}`);
      await delay(1000);
      return null;
    }
  }

  function start(claim: Claim): void {
    log(`${claim.id}: taken (epoch ${claim.epoch})`);
    const { remote, folders } = remotes.get(claim.project)!;
    const isSame = ({ project, id }: Held) => project === claim.project && id === claim.id;
    const previous = Promise.all([...running].filter((each) => isSame(each.held())).map((each) => each.ended));
    const attempt = startAttempt({
      ...options,
      counters,
      claim,
      remote,
      folders,
      onMachineProblem: rest,
      previous: previous.then(() => {}),
    });
    running.add(attempt);
    void attempt.ended.finally(() => {
      running.delete(attempt);
      const booked = attempt.booked();
      bookings.add(booked);
      void booked.finally(() => bookings.delete(booked));
      wake.now();
    });
  }
};

interface OpenedRemote {
  readonly remote: Remote;
  readonly folders: WorkerFolders;
}

const openRemotes = async ({ repositories, folder }: WorkerOptions): Promise<Map<string, OpenedRemote>> => {
  const opened = new Map<string, OpenedRemote>();
  for (const { project, url } of repositories) {
    const repository = join(
      folder,
      `${project
        .split('/')
        .at(-1)
        ?.replaceAll(/[^\w.-]/g, '-')}-${shortHash(project)}`,
    );
    const folders = { repository, changes: join(repository, 'changes') };
    createFolder(folders.changes);
    const remote = { mirror: join(repository, 'mirror.git'), url };
    cleanMirror(remote);
    const problem = await openMirror(remote, repository);
    if (problem !== null) throw userError('io', remote.mirror, problem);
    opened.set(project, { remote, folders });
  }
  return opened;
};

const lockFolder = ({ folder, name }: WorkerOptions) => {
  createFolder(folder);
  const lock = acquireLock(join(folder, 'lock'), `worker ${name}`);
  if (lock.kind === 'taken') throw userError('worker-running', name, lock.by.pid);
  return lock;
};

/**
 * Registers the worker under its name, or waits until a worker that had the name is silent for longer than its lease.
 * Throws if that worker is alive.
 */
const registerName = async (options: WorkerOptions, instance: string): Promise<void> => {
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

/** Returns the number of workers; null if another one has the name. The lock of the folder proves that one on this folder is dead. */
const register = async (
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

interface Wake {
  now(): void;
  /** Calls `now` later. Calls until then are one. */
  after(ms: number): void;
  within(ms: number): Promise<void>;
}

const createWake = (): Wake => {
  let isRung = false;
  let ring: (() => void) | null = null;
  let pending: NodeJS.Timeout | null = null;
  const now = (): void => {
    isRung = true;
    ring?.();
  };
  return {
    now,
    after: (ms) => {
      pending ??= setTimeout(() => {
        pending = null;
        now();
      }, ms).unref();
    },
    within: async (ms) => {
      if (!isRung)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          ring = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      [isRung, ring] = [false, null];
    },
  };
};

/** Calls `work` immediately, then repeatedly, one call at a time. */
const every = (ms: number, work: () => Promise<void>, onError: (error: unknown) => void) => {
  const stopped = new AbortController();
  const loop = (async () => {
    while (!stopped.signal.aborted) {
      const startedMs = performance.now();
      await work().catch(onError);
      const restMs = Math.max(50, ms - (performance.now() - startedMs));
      await delay(restMs, undefined, { signal: stopped.signal }).catch(() => {});
    }
  })();
  return {
    stop: async () => {
      stopped.abort();
      await loop;
    },
  };
};
