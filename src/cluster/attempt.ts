import { AsyncLocalStorage } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { FlagValues } from '../config/flags.ts';
import { parseFlags } from '../config/resolve.ts';
import { asUserError } from '../errors.ts';
import type { Remote } from '../git/remote.ts';
import type { StopSignals } from '../process/signals.ts';
import { unknownUsage } from '../ralph/agent-events.ts';
import type { RunEvent, Stop } from '../ralph/events.ts';
import type { IterationRecord } from '../ralph/record.ts';
import type { RunResult } from '../ralph/view.ts';
import { startHeadless } from '../run/headless.ts';
import type { Batch, ClusterRun } from '../run/services.ts';
import { requestControl } from '../store/control.ts';
import { lastRecords } from '../store/history.ts';
import { book, costOf, reserve } from './budget.ts';
import type { Claim } from './change-row.ts';
import { type Held, settle, type Settlement, wasLost } from './claims.ts';
import { type Clone, openClone, removeClone, removeOlderClones, tagOf, type WorkerFolders } from './clone.ts';
import type { Database } from './database.ts';
import { type FenceNote, type PushedFence, takeFence } from './fence.ts';
import { applyContext, confirmContext, readInbox } from './inbox.ts';
import type { Counters } from './metrics.ts';
import { mirrorRun } from './mirror-run.ts';
import { createPublisher, type News, type Publisher } from './publish.ts';
import { queueSettings } from './queue-settings.ts';

export interface AttemptOptions {
  readonly database: Database;
  readonly remote: Remote;
  readonly folders: WorkerFolders;
  readonly claim: Claim;
  readonly leaseMs: number;
  /** How often the files are pushed while an agent works. */
  readonly checkpointMs: number;
  /** The environment of agents and commands. */
  readonly env: NodeJS.ProcessEnv;
  /** Settings of the worker, which override those of the queue. */
  readonly settings: FlagValues;
  readonly log: (line: string) => void;
  readonly counters: Counters;
}

/** The work of one worker on one change, from its claim to the end of the claim. */
export interface Attempt {
  /** Which change, with the current epoch. */
  held(): Held;
  /** The claim is gone: ends the agent, and writes nothing any more. */
  lose(why: string): void;
  /** Hands the change back after its iteration, or right now. */
  handBack(when: 'after-iteration' | 'now'): void;
  /** Looks for messages now. */
  look(): void;
  /** The database is being told how the attempt has ended. It may know already. */
  isSettling(): boolean;
  /** Resolves when everything is over. Never rejects. */
  readonly ended: Promise<void>;
  /** Resolves when the cost of all iterations is booked, which may take as long as the database is down. */
  readonly booked: Promise<unknown>;
}

/** Why a run was stopped by its worker. */
type Cut =
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'handed-back' }
  | { readonly kind: 'waiting'; readonly untilMs: number; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string };

/** How often events are copied into the database. */
const copyMs = 500;
/** How often the inbox is read without a notification. */
const inboxMs = 5000;
/** How long a worker tries to push the last state of a run. */
const lastPushMs = 15 * 60_000;

export const startAttempt = (options: AttemptOptions): Attempt => {
  const { database, claim, leaseMs, log, counters } = options;
  const stopping = createStopSignals();
  let held: Held = claim;
  let cut: Cut | null = null;
  let look = () => {};
  let isSettling = false;
  let booked: Promise<unknown> = Promise.resolve();
  const isLost = () => cut?.kind === 'lost';

  /** The first reason wins, except that nothing is written once the claim is lost. */
  const cutShort = (reason: Cut): void => {
    if (cut === null || reason.kind === 'lost') cut = reason;
    stopping.stop();
  };
  const lose = (why: string): void => {
    if (cut?.kind === 'lost') return;
    counters.lost++;
    log(`${claim.id}: lost (${why}); ending its agent`);
    cutShort({ kind: 'lost', why });
    setTimeout(stopping.kill, Math.min(5000, leaseMs / 6)).unref();
  };

  const loseTo = ({ why }: Extract<PushedFence, { kind: 'lost' }>): void => {
    counters.refused++;
    lose(why);
  };

  const work = async (): Promise<void> => {
    const settlement = await attempt().catch((error: unknown): Settlement => {
      const known = asUserError(error);
      if (known?.code === 'queue-unreachable') return { state: 'queued', detail: null };
      if (known === null) log(`${claim.id}: ${(error as Error).stack ?? String(error)}`);
      return { state: 'failed', detail: known?.message ?? `a bug in Spool: ${String(error)}` };
    });
    if (settlement === null || cut?.kind === 'lost') return;
    await settleSurely(settlement);
  };

  const attempt = async (): Promise<Settlement | null> => {
    const onRaised = (raised: Claim) => {
      held = raised;
    };
    const fence = await takeFence(database, options.remote, { claim, onRaised });
    if (fence.kind === 'lost') {
      lose(fence.why);
      return null;
    }
    if (fence.kind === 'failed') return { state: 'failed', detail: fence.why };
    if (fence.kind === 'unreachable') return tryLater(fence.why);
    const { settled } = fence.note;
    if (settled !== null && (await wasLost(database, held, settled.epoch))) return settled.settlement;
    if (isLost()) return null;
    removeOlderClones(options.folders, held, options.env);
    const clone = await openClone(options.remote, options.folders, { held: fence, env: options.env });
    if ('why' in clone) return clone.isTemporary ? tryLater(clone.why) : { state: 'failed', detail: clone.why };
    if (isLost()) {
      removeClone(clone, options.env);
      return null;
    }
    const publisher = createPublisher({ ...options, clone, held: fence });
    const inbox = createInboxReader({ ...options, held, clone, applied: fence.note.inbox }, stopping);
    look = () => void inbox.read();
    const mirror = mirrorRun(database, held, clone);
    // Tells the events of the owners before apart from those of this one.
    await mirror.copy().catch(() => {});
    let isRunning = true;
    const copying = repeat(copyMs, async () => {
      if (!(await mirror.copy())) lose('another worker has taken it');
      return isRunning;
    });
    const reading = repeat(inboxMs, async () => {
      await inbox.read();
      return isRunning;
    });
    let isPublished = false;
    try {
      const result = await runChange({ clone, publisher, inbox, note: fence.note });
      isRunning = false;
      await Promise.all([copying.stop(), reading.stop()]);
      await mirror.copy().catch(() => {});
      if (isLost()) return null;
      const settlement = settlementOf(result, inbox.wantsPause());
      const pushed = await publishSurely(publisher, { inbox: inbox.applied(), settlement });
      if (pushed !== null) return pushed;
      isPublished = true;
      return settlement;
    } finally {
      isRunning = false;
      await Promise.all([copying.stop(), reading.stop()]);
      mirror.close();
      if (isPublished || isLost()) removeClone(clone, options.env);
    }
  };

  /** Any worker tries again. */
  const tryLater = (why: string): Settlement => ({
    state: 'waiting',
    detail: why,
    availableAt: new Date(Date.now() + leaseMs),
  });

  const runChange = async ({ clone, publisher, inbox, note }: OpenedAttempt): Promise<RunResult> => {
    const { request } = claim;
    let othersUsd = 0;
    const batch: Batch = {
      usageOfOthers: () => (claim.budget === null ? null : { ...unknownUsage, costUsd: othersUsd }),
      exclusive: (each) => each(),
      requested: () => null,
      request: () => {},
      isolateAgentData: true,
    };
    // What is pushed must not depend on git settings that the agent can change, which the run checks for.
    const outside = AsyncLocalStorage.snapshot();
    const publish = async (news: News): Promise<void> => {
      // Losing the claim has interrupted the iteration. Even if nobody has taken the change yet, it is no result.
      if (isLost()) return;
      const pushed = await publisher.publish(news);
      if (isLost()) {
        const how = pushed.kind === 'pushed' ? 'in time' : `refused (${pushed.why})`;
        log(`${claim.id}: pushed after the claim was lost: ${how}`);
      }
      if (pushed.kind === 'lost') return loseTo(pushed);
      if (isLost()) return;
      if (pushed.kind === 'conflict') return cutShort({ kind: 'failed', why: pushed.why });
      if (pushed.kind === 'failed') return log(`${claim.id}: not pushed yet: ${pushed.why}`);
      await confirmContext(database, held, news.inbox).catch(() => {});
    };
    const cluster: ClusterRun = {
      tag: tagOf(clone),
      work: note.work,
      checkpointMs: options.checkpointMs,
      checkpoint: (work) => outside(() => publish({ inbox: inbox.applied(), work })),
      admit: () =>
        outside(async () => {
          if (claim.budget === null) return null;
          const reservation = await retry(() => reserve(database, held, claim.budget!), stopping.signals.stop);
          if (reservation === null) return null;
          othersUsd = reservation.othersUsd;
          return reservation.granted ? null : budgetSpent(reservation.limitUsd, reservation.spentUsd);
        }),
      publish: () =>
        outside(async () => {
          const record = lastRecords(clone.project, claim.id, 1).records.at(-1);
          if (record) await bookSurely(record);
          await publish({ inbox: inbox.applied() });
        }),
    };
    const onEvent = (event: RunEvent): void => {
      if (event.type === 'iteration-finished') {
        counters.iterations++;
        counters.costUsd += costOf(event.record);
        log(`${claim.id}: iteration ${event.record.iteration} finished`);
      }
      // A long wait frees the slot. Any worker continues when it is over.
      if (event.type === 'waiting' && event.untilMs - Date.now() > leaseMs / 2)
        cutShort({ kind: 'waiting', untilMs: event.untilMs, why: event.why });
    };
    return startHeadless({
      project: clone.project,
      change: claim.id,
      from: request.source,
      prompt: request.prompt,
      settings: { ...parseFlags(queueSettings(request.settings)), ...options.settings, worktree: true },
      env: options.env,
      reporter: {
        onEvent,
        warn: (text) => log(`${claim.id}: ${text}`),
        drained: () => null,
        dispose: () => {},
      },
      onStopSignals: () => stopping.signals,
      batch,
      cluster,
    });
  };

  /** Resolves when it is booked, or when the run is stopped. It is booked in any case: the money is spent. */
  const bookSurely = async (record: IterationRecord): Promise<void> => {
    const booking = retry(() => book(database, held, record, claim.budget), null);
    booked = Promise.all([booked, booking]);
    await Promise.race([booking, aborted(stopping.signals.stop)]);
  };

  const settlementOf = (result: RunResult, wantsPause: boolean | null): Settlement => {
    if (cut?.kind === 'failed') return { state: 'failed', detail: cut.why };
    if (result.reason !== 'interrupted') return { state: result.reason, detail: result.detail };
    if (cut?.kind === 'waiting') return { state: 'waiting', detail: cut.why, availableAt: new Date(cut.untilMs) };
    if (cut?.kind === 'handed-back' || wantsPause === null) return { state: 'queued', detail: null };
    return wantsPause ? { state: 'paused', detail: 'by a request' } : { state: 'stopped', detail: 'by a request' };
  };

  /** Returns the settlement if the last state cannot be pushed. */
  const publishSurely = async (publisher: Publisher, news: News): Promise<Settlement | null> => {
    const endMs = performance.now() + lastPushMs;
    for (;;) {
      const pushed = await publisher.publish(news);
      if (pushed.kind === 'pushed') {
        await confirmContext(database, held, news.inbox).catch(() => {});
        return null;
      }
      if (pushed.kind === 'lost') loseTo(pushed);
      if (isLost()) return { state: 'failed', detail: pushed.why };
      if (pushed.kind === 'conflict' || performance.now() > endMs) return { state: 'failed', detail: pushed.why };
      log(`${claim.id}: not pushed yet: ${pushed.why}`);
      await delay(1000);
    }
  };

  /** As long as the claim holds: the database may be down. */
  const settleSurely = async (settlement: Settlement): Promise<void> => {
    isSettling = true;
    while (cut?.kind !== 'lost') {
      try {
        const isOurs = await settle(database, held, settlement);
        const outcome = isOurs ? settlement.state : 'lost';
        counters.ended.set(outcome, (counters.ended.get(outcome) ?? 0) + 1);
        log(
          isOurs
            ? `${claim.id}: ${settlement.state}${settlement.detail ? ` (${settlement.detail})` : ''}`
            : `${claim.id}: lost`,
        );
        return;
      } catch (error) {
        log(`${claim.id}: ${(error as Error).message}`);
        await delay(1000);
      }
    }
  };

  const ended = work();
  return {
    held: () => held,
    lose,
    handBack: (when) => {
      if (when === 'now') return cutShort({ kind: 'handed-back' });
      cut ??= { kind: 'handed-back' };
      stopping.afterIteration();
    },
    look: () => look(),
    isSettling: () => isSettling,
    ended,
    get booked() {
      return booked;
    },
  };
};

const budgetSpent = (limitUsd: number, spentUsd: number): Stop => ({
  cause: 'max-cost',
  detail: `the shared budget of $${limitUsd} is used up ($${spentUsd.toFixed(2)} spent by all changes)`,
});

interface OpenedAttempt {
  readonly clone: Clone;
  readonly publisher: Publisher;
  readonly inbox: InboxReader;
  readonly note: FenceNote;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

interface Stopping {
  readonly signals: StopSignals;
  stop(): void;
  kill(): void;
  /** Calls the listener now or later, once. */
  afterIteration(): void;
  onAfterIteration(listener: () => void): void;
}

const createStopSignals = (): Stopping => {
  const [stop, kill] = [new AbortController(), new AbortController()];
  setMaxListeners(0, stop.signal, kill.signal);
  let isAsked = false;
  let listener: (() => void) | null = null;
  return {
    signals: {
      stop: stop.signal,
      kill: kill.signal,
      received: () => (stop.signal.aborted ? 'request' : null),
      dispose: () => {},
    },
    stop: () => stop.abort(),
    kill: () => kill.abort(),
    afterIteration: () => {
      isAsked = true;
      listener?.();
    },
    onAfterIteration: (each) => {
      listener = each;
      if (isAsked) each();
    },
  };
};

interface InboxReader {
  read(): Promise<void>;
  /** The last message that is in the state of the run. */
  applied(): number;
  /** Whether a person has asked to pause (true) or to stop (false); null if nobody has. */
  wantsPause(): boolean | null;
}

interface InboxOptions extends Pick<AttemptOptions, 'database' | 'env'> {
  readonly held: Held;
  readonly clone: Clone;
  readonly applied: number;
}

/** Hands what people send on to the run, as if it had been sent on this machine. */
const createInboxReader = ({ database, env, held, clone, applied }: InboxOptions, stopping: Stopping): InboxReader => {
  const of = { project: clone.project, change: held.id, env };
  let contextSeq = applied;
  let seen = 0;
  let wantsPause: boolean | null = null;
  /** What the run has yet to be told: it may be starting. */
  let open: 'stop' | 'stop-after-iteration' | null = null;
  const tell = (): void => {
    if (open === 'stop') stopping.stop();
    else if (open !== null && requestControl(of.project, of.change, open, { env }) !== 'sent') return;
    open = null;
  };
  stopping.onAfterIteration(() => {
    open ??= 'stop-after-iteration';
    tell();
  });
  let isReading = false;
  return {
    applied: () => contextSeq,
    wantsPause: () => wantsPause,
    read: async () => {
      if (isReading) return;
      isReading = true;
      try {
        const messages = await readInbox(database, held, seen);
        for (const message of messages) {
          seen = message.seq;
          if (message.kind === 'context' || message.kind === 'clear-context') {
            if (message.seq > contextSeq) applyContext(of, message);
            contextSeq = Math.max(contextSeq, message.seq);
          } else if (message.kind === 'resume') wantsPause = null;
          else {
            wantsPause = message.kind === 'pause' && wantsPause !== false;
            open = message.kind === 'stop' ? 'stop' : (open ?? 'stop-after-iteration');
          }
        }
        tell();
      } finally {
        isReading = false;
      }
    },
  };
};

interface Repeated {
  stop(): Promise<void>;
}

/** Calls `work` again and again until it returns false or is stopped. Errors are those of the database, which may come back. */
const repeat = (everyMs: number, work: () => Promise<boolean>): Repeated => {
  const stopped = new AbortController();
  const loop = (async () => {
    while (!stopped.signal.aborted) {
      const goesOn = await work().catch(() => true);
      if (!goesOn) return;
      await delay(everyMs, undefined, { signal: stopped.signal, ref: false }).catch(() => {});
    }
  })();
  return {
    stop: () => {
      stopped.abort();
      return loop;
    },
  };
};

/** Repeats what the database could not do. Returns null when stopped. */
const retry = async <Result>(work: () => Promise<Result>, stop: AbortSignal | null): Promise<Result | null> => {
  for (;;) {
    try {
      return await work();
    } catch {
      if (stop?.aborted) return null;
      await delay(500, undefined, { ...(stop && { signal: stop }), ref: false }).catch(() => {});
    }
  }
};
