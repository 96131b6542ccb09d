import {
  addUsage,
  type AgentChoice,
  agentKey,
  type GatePlan,
  type IterationRecord,
  type Limits,
  type Place,
  type RunEvent,
  type RunPlan,
  type SettingsThen,
  type Stop,
  type StopReason,
  type TaskCount,
  type Uncommitted,
  type Usage,
} from './events.ts';
import { addHeld, addRecord, emptyTally, type Tally } from './tally.ts';

/** The run as it stands: what state.json holds and every reader shows. */
export interface RunView extends Tally {
  readonly v: 1;
  readonly run: string;
  readonly change: string;
  readonly module: string | null;
  readonly status: 'running' | StopReason;
  /** What ended it; null while it runs. */
  readonly cause: Stop['cause'] | null;
  /** The same in words. */
  readonly detail: string | null;
  /** The iteration that runs, or the last one that ran. */
  readonly iteration: number;
  /** The agent that works, or worked last. */
  readonly harness: string;
  readonly model: string | null;
  readonly agents: readonly AgentChoice[];
  readonly allowAll: boolean;
  readonly completionPromise: string;
  readonly minIterations: number;
  /** null means unlimited. */
  readonly maxIterations: number | null;
  readonly blockedPromise: string;
  readonly limits: { readonly [Name in keyof Limits]: number | null };
  readonly gate: GatePlan;
  /** null before it is known. */
  readonly place: Place | null;
  readonly failFast: boolean;
  /** What iterations change is committed. */
  readonly commit: boolean;
  /** How many tasks were done when it ended; null while it runs, and when there are none. */
  readonly tasks: TaskCount | null;
  /** What was in no commit when it ended; older runs did not write it down. */
  readonly uncommitted?: readonly Uncommitted[];
  /** How long the run was at work when this was written, also before it was interrupted. */
  readonly elapsedMs: number;
  /** What the iteration that runs has used so far. */
  readonly spentNow: Usage | null;
  /** Until when the run waits, in milliseconds since 1970, and for what; null when it does not. */
  readonly waiting: { readonly untilMs: number; readonly why: string } | null;
  /** When agents that were held up are free, in milliseconds since 1970, by their keys. */
  readonly resting: Readonly<Record<string, number>>;
  /** An iteration whose agent has ended and whose gate has not: it is recorded when its gate was run. */
  readonly pending: IterationRecord | null;
  /** Where its settings came from; null in the state of an older Spool. */
  readonly settings: SettingsThen | null;
  readonly pid: number;
  readonly startedAt: string;
  readonly updatedAt: string;
  readonly endedAt: string | null;
}

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

/** A run that claims to go on although its process is gone was cut off. */
export const currentStatus = (view: RunView, alive: boolean): RunView['status'] =>
  view.status === 'running' && !alive ? 'interrupted' : view.status;

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
