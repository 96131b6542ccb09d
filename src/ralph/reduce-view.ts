import { agentKey, type RunPlan, type SettingsAtStart } from './plan.ts';
import { type IterationRecord } from './record.ts';
import type { Usage } from './agent-events.ts';
import { type RunEvent } from './events.ts';
import { addUsage } from './usage.ts';
import { addDeferred, addRecord, emptyTotals, type RunTotals } from './totals.ts';
import type { RunView } from './view.ts';

/** Returns the view before the first event. */
export const initialView = (
  plan: RunPlan,
  facts: { pid: number; startedAt: string; at: string; previous?: RunView | null; settings?: SettingsAtStart | null },
): RunView => ({
  ...(facts.previous ? withoutEnd(facts.previous) : emptyTotals),
  v: 2,
  run: plan.run,
  change: plan.change,
  source: plan.source,
  module: plan.module,
  status: 'running',
  cause: null,
  detail: null,
  allowAllHelps: false,
  error: null,
  iteration: facts.previous?.pending?.iteration ?? Math.min(plan.firstIteration, plan.maxIterations),
  ...(plan.agents[0] ?? { harness: '', model: null }),
  agents: plan.agents,
  allowAll: plan.allowAll,
  sandbox: plan.sandbox,
  completionPromise: plan.completionPromise,
  minIterations: plan.minIterations,
  maxIterations: plan.maxIterations === Infinity ? null : plan.maxIterations,
  blockedPromise: plan.blockedPromise,
  limits: Object.fromEntries(
    Object.entries(plan.limits).map(([name, limit]) => [name, limit === Infinity ? null : limit]),
  ) as RunView['limits'],
  gate: plan.gate,
  workspace: facts.previous?.workspace ?? null,
  failFast: plan.failFast,
  commit: plan.commit,
  ...(!plan.handover && { handover: false }),
  ...(plan.ladder && { ladder: true }),
  tasks: null,
  uncommitted: [],
  elapsedMs: facts.previous?.elapsedMs ?? 0,
  currentUsage: facts.previous?.pending?.usage ?? null,
  waiting: null,
  requested: null,
  pausedAt: null,
  cooldowns: facts.previous?.cooldowns ?? {},
  pending: facts.previous?.pending ?? null,
  settings: facts.settings ?? null,
  pid: facts.pid,
  startedAt: facts.startedAt,
  updatedAt: facts.at,
  endedAt: null,
});

/** Leaves out what is known again when the run ends, and settings that may be turned off. */
const withoutEnd = (view: RunView): Omit<RunView, 'changed' | 'changeDeleted' | 'handover' | 'ladder'> => {
  const { changed: _, changeDeleted: __, handover: ___, ladder: ____, ...rest } = view;
  return rest;
};

/** Returns the view after an event; the same object if the event does not change it. */
export const reduceView = (view: RunView, event: RunEvent): RunView => {
  switch (event.type) {
    case 'iteration-started':
      return {
        ...view,
        ...event.agent,
        iteration: event.iteration,
        currentUsage: null,
        waiting: null,
        updatedAt: event.at,
      };
    case 'agent-switched':
      return { ...view, switched: event.switched, updatedAt: event.at };
    case 'iteration-pending':
      return { ...view, pending: event.record, updatedAt: event.at };
    case 'iteration-finished':
      return {
        ...withoutReview(view),
        ...addRecord(view, event.record),
        currentUsage: null,
        pending: null,
        updatedAt: event.at,
      };
    case 'attempt-deferred':
      return deferred(view, event);
    case 'waiting':
      return { ...view, waiting: { untilMs: event.untilMs, why: event.why }, updatedAt: event.at };
    case 'requested':
      return requested(view, event);
    case 'paused':
      return { ...view, waiting: null, pausedAt: event.at, updatedAt: event.at };
    case 'resumed':
      return { ...view, ...withoutPause(view, event.pausedMs), updatedAt: event.at };
    case 'run-ended':
      return ended(view, event);
    case 'run-started':
      return { ...view, workspace: event.workspace, updatedAt: event.at };
    case 'agent':
      return event.event.type === 'usage' ? { ...view, currentUsage: addUsage(view.currentUsage, event.event) } : view;
    case 'reviewer':
      return event.event.type === 'usage' ? withReviewUsage(view, event.event) : view;
    case 'review-started':
      return { ...view, waiting: null, updatedAt: event.at };
    case 'review-finished':
      return { ...view, updatedAt: event.at };
    case 'notice':
    case 'gate-started':
    case 'tasks-changed':
      return view;
  }
};

type Of<Type extends RunEvent['type']> = RunEvent & { readonly type: Type };

const deferred = (view: RunView, { attempt, untilMs, atMs, at }: Of<'attempt-deferred'>): RunView => ({
  ...view,
  ...addDeferred(view, attempt, atMs),
  currentUsage: null,
  pending: null,
  cooldowns: { ...view.cooldowns, [agentKey(attempt)]: untilMs },
  updatedAt: at,
});

const requested = (view: RunView, { command, id, at }: Of<'requested'>): RunView => ({
  ...view,
  requested: command === 'resume' ? null : command,
  ...(id !== undefined && { requests: [...(view.requests ?? []), id].slice(-maxRequests) }),
  updatedAt: at,
});

const withReviewUsage = (view: RunView, usage: Usage): RunView => ({
  ...view,
  currentUsage: addUsage(view.currentUsage, usage),
  reviewUsage: addUsage(view.reviewUsage ?? null, usage),
});

const ended = (view: RunView, event: Of<'run-ended'>): RunView => {
  const { reason, cause, detail, allowAllHelps = false, tasks, uncommitted = [], changed, changeDeleted, at } = event;
  return {
    ...view,
    status: reason,
    cause,
    detail,
    allowAllHelps,
    tasks,
    uncommitted,
    ...(changed && { changed }),
    ...(changeDeleted && { changeDeleted }),
    waiting: null,
    requested: null,
    pausedAt: null,
    updatedAt: at,
    endedAt: at,
  };
};

/** A pause does not count as waiting for an agent. */
const withoutPause = ({ deferredSinceMs }: RunView, pausedMs: number): Partial<RunView> => ({
  requested: null,
  pausedAt: null,
  deferredSinceMs: deferredSinceMs === null ? null : deferredSinceMs + pausedMs,
});

/** Adds the records that were saved after the view was written. */
export const catchUp = (view: RunView, records: readonly IterationRecord[]): RunView => {
  const newer = records.filter((record) => record.run === view.run && record.iteration > view.finishedIterations);
  if (newer.length > 0)
    return { ...withoutReview(view), ...newer.reduce<RunTotals>(addRecord, view), currentUsage: null, pending: null };
  const { run, finishedIterations, pending } = view;
  // Its usage is counted when it is recorded. That of a review that was interrupted is in no record.
  if (pending?.run === run && pending.iteration === finishedIterations + 1)
    return { ...withoutReview(view), usage: addUsage(view.usage, view.reviewUsage ?? null), currentUsage: null };
  // The interrupted iteration was never recorded, but its usage counts.
  return {
    ...withoutReview(view),
    usage: addUsage(view.usage, view.currentUsage),
    currentUsage: null,
    pending: null,
  };
};

const withoutReview = (view: RunView): RunView => {
  const { reviewUsage: _, ...rest } = view;
  return rest;
};

/** Those who sent earlier ones have read their answer. */
const maxRequests = 8;
