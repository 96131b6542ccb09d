import { agentKey, type IterationRecord, type RunEvent, type RunPlan, type SettingsThen } from './events.ts';
import { addUsage } from './usage.ts';
import { addHeld, addRecord, emptyTally, type Tally } from './tally.ts';
import type { RunView } from './view.ts';

/** The view before the first event. `startedAt` is kept when a run is resumed. */
export const initialView = (
  plan: RunPlan,
  facts: { pid: number; startedAt: string; at: string; previous?: RunView | null; settings?: SettingsThen | null },
): RunView => ({
  ...(facts.previous ?? emptyTally),
  v: 1,
  run: plan.run,
  change: plan.change,
  module: plan.module,
  status: 'running',
  cause: null,
  detail: null,
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
  place: facts.previous?.place ?? null,
  failFast: plan.failFast,
  commit: plan.commit,
  tasks: null,
  uncommitted: [],
  elapsedMs: facts.previous?.elapsedMs ?? 0,
  spentNow: null,
  waiting: null,
  resting: facts.previous?.resting ?? {},
  pending: facts.previous?.pending ?? null,
  settings: facts.settings ?? null,
  pid: facts.pid,
  startedAt: facts.startedAt,
  updatedAt: facts.at,
  endedAt: null,
});

/** The view after one more event; the same object when the event changes nothing in it. */
export const reduceView = (view: RunView, event: RunEvent): RunView => {
  switch (event.type) {
    case 'iteration-started':
      return {
        ...view,
        ...event.agent,
        iteration: event.iteration,
        spentNow: null,
        waiting: null,
        updatedAt: event.at,
      };
    case 'iteration-pending':
      return { ...view, pending: event.record, updatedAt: event.at };
    case 'iteration-finished':
      return { ...view, ...addRecord(view, event.record), spentNow: null, pending: null, updatedAt: event.at };
    case 'held-up': {
      const resting = { ...view.resting, [agentKey(event.attempt)]: event.untilMs };
      const held = addHeld(view, event.attempt, event.atMs);
      return { ...view, ...held, spentNow: null, pending: null, resting, updatedAt: event.at };
    }
    case 'waiting':
      return { ...view, waiting: { untilMs: event.untilMs, why: event.why }, updatedAt: event.at };
    case 'run-ended': {
      const { reason, cause, detail, tasks, uncommitted = [], at } = event;
      return { ...view, status: reason, cause, detail, tasks, uncommitted, waiting: null, updatedAt: at, endedAt: at };
    }
    case 'run-started':
      return { ...view, place: event.place, updatedAt: event.at };
    case 'agent':
      return event.event.type === 'usage' ? { ...view, spentNow: addUsage(view.spentNow, event.event) } : view;
    case 'notice':
    case 'gate-started':
      return view;
  }
};

/** The view with the records in it that were saved after it was written. */
export const catchUp = (view: RunView, records: readonly IterationRecord[]): RunView => {
  const newer = records.filter((record) => record.run === view.run && record.iteration > view.finished);
  if (newer.length > 0) return { ...view, ...newer.reduce<Tally>(addRecord, view), spentNow: null, pending: null };
  const { run, finished, pending } = view;
  // What it cost is counted when it is recorded.
  if (pending?.run === run && pending.iteration === finished + 1) return { ...view, spentNow: null };
  // Nobody recorded the iteration that was cut off; what it cost was spent all the same.
  return { ...view, usage: addUsage(view.usage, view.spentNow), spentNow: null, pending: null };
};
