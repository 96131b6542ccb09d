import { AsyncLocalStorage } from 'node:async_hooks';
import { parseFlags } from '../../config/resolve.ts';
import { unknownUsage } from '../../ralph/agent-events.ts';
import type { RunEvent, Stop } from '../../ralph/events.ts';
import type { RunResult, RunView } from '../../ralph/view.ts';
import { startHeadless } from '../../run/headless.ts';
import type { Batch, ClusterRun, NextIteration } from '../../run/services.ts';
import { reserve, type Reservation } from '../budget.ts';
import { type Clone, clonesBeside, tagOf } from '../clone.ts';
import { queueSettings } from '../queue-settings.ts';
import type { AttemptContext } from './context.ts';
import type { Bookings } from './bookings.ts';
import type { Publishing } from './publishing.ts';
import { retry } from '../repeat.ts';
import type { Requests } from './requests.ts';

/** What the run of an attempt works with. */
export interface OpenedAttempt {
  readonly clone: Clone;
  /** The work tree in the middle of an iteration; null after one. */
  readonly work: string | null;
  readonly publishing: Publishing;
  readonly requests: Requests;
  readonly bookings: Bookings;
}

/** Runs the change in its clone, as `spool ralph` does, and publishes each iteration. */
export const runChange = (context: AttemptContext, opened: OpenedAttempt): Promise<RunResult> => {
  const { claim, leaseMs, env, settings, stopping, counters, log } = context;
  const { clone, work, publishing, requests, bookings } = opened;
  const budget = createBudget(context);
  // What is pushed must not depend on git settings that the agent can change, which the run checks for.
  const outside = AsyncLocalStorage.snapshot();
  const cluster: ClusterRun = {
    tag: tagOf(clone),
    worker: () => ({ name: claim.owner, host: context.host, epoch: context.held().epoch }),
    work,
    withheld: context.withheld,
    hidden: () => [...context.secrets, ...clonesBeside(context.folders, clone)],
    publishUnfinishedMs: context.publishUnfinishedMs,
    publishUnfinished: (work) => outside(() => publishing.publish({ inbox: requests.applied(), work })),
    admit: (next) =>
      outside(async () => {
        await bookings.upToDate();
        return budget.admit(next);
      }),
    publish: () =>
      outside(async () => {
        await bookings.upToDate();
        await publishing.publish({ inbox: requests.applied() });
      }),
  };
  const onEvent = (event: RunEvent, view: RunView): void => {
    bookings.onEvent(event, view);
    if (event.type === 'iteration-finished') {
      counters.iterations++;
      log(`${claim.id}: iteration ${event.record.iteration} finished`);
    }
    // A long wait frees the slot. Any worker continues when it is over.
    if (event.type === 'waiting' && event.untilMs - Date.now() > leaseMs / 2)
      stopping.cutShort({ kind: 'waiting', untilMs: event.untilMs, why: event.why });
  };
  return startHeadless({
    project: clone.project,
    change: claim.id,
    from: claim.request.source,
    prompt: claim.request.prompt,
    settings: { ...parseFlags(queueSettings(claim.request.settings)), ...settings, worktree: true },
    env,
    reporter: {
      onEvent,
      warn: (text) => log(`${claim.id}: ${text}`),
      drained: () => null,
      dispose: () => {},
    },
    onStopSignals: () => stopping.signals,
    batch: budget.batch,
    cluster,
  });
};

/** The budget that the change shares with others, on all machines. */
const createBudget = ({ database, claim, held, stopping }: AttemptContext) => {
  let othersUsd = 0;
  const batch: Batch = {
    usageOfOthers: () => (claim.budget === null ? null : { ...unknownUsage, costUsd: othersUsd }),
    exclusive: (each) => each(),
    requested: () => null,
    request: () => {},
    isolateAgentData: true,
  };
  const admit = async ({ run, iteration, costUsd }: NextIteration): Promise<Stop | null> => {
    const { budget } = claim;
    if (budget === null) return null;
    const asked = () => reserve(database, held(), { budget, run, iteration });
    const reservation = await retry(asked, stopping.signals.stop);
    if (reservation === null) {
      if (!stopping.signals.stop.aborted) stopping.lose('another worker has taken it');
      return { cause: 'signal', detail: 'stopped before the iteration could be reserved' };
    }
    // The run does not know what its lost attempts have cost.
    othersUsd = Math.max(reservation.othersUsd, reservation.spentUsd - (costUsd ?? 0));
    return reservation.granted ? null : budgetSpent(reservation);
  };
  return { batch, admit };
};

const budgetSpent = ({ limitUsd, spentUsd, reservedUsd }: Reservation): Stop => {
  const reserved = reservedUsd > 0 ? `, $${reservedUsd.toFixed(2)} reserved` : '';
  return {
    cause: 'max-cost',
    detail: `the shared budget of $${limitUsd} is used up ($${spentUsd.toFixed(2)} spent by all changes${reserved})`,
  };
};
