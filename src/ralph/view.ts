import { addUsage, type AgentChoice, type RunEvent, type RunPlan, type StopReason, type Usage } from './events.ts';

/** The run as it stands: what state.json holds and every reader shows. */
export interface RunView {
  readonly v: 1;
  readonly run: string;
  readonly change: string;
  readonly module: string | null;
  readonly status: 'running' | StopReason;
  /** Why it ended, in words; null while it runs. */
  readonly detail: string | null;
  /** The iteration that runs, or the last one that ran. */
  readonly iteration: number;
  /** How many iterations of this run are in the history. */
  readonly finished: number;
  /** The agent that works, or worked last. */
  readonly harness: string;
  readonly model: string | null;
  readonly agents: readonly AgentChoice[];
  readonly allowAll: boolean;
  readonly completionPromise: string;
  readonly minIterations: number;
  /** null means unlimited. */
  readonly maxIterations: number | null;
  /** What the recorded iterations used together; null when none of them said. */
  readonly usage: Usage | null;
  readonly pid: number;
  readonly startedAt: string;
  readonly updatedAt: string;
  readonly endedAt: string | null;
}

/** The view before the first event. `startedAt` is kept when a run is resumed. */
export const initialView = (
  plan: RunPlan,
  facts: { pid: number; startedAt: string; at: string; usage?: Usage | null },
): RunView => ({
  v: 1,
  run: plan.run,
  change: plan.change,
  module: plan.module,
  status: 'running',
  detail: null,
  iteration: plan.firstIteration,
  finished: plan.firstIteration - 1,
  ...(plan.agents[0] ?? { harness: '', model: null }),
  agents: plan.agents,
  allowAll: plan.allowAll,
  completionPromise: plan.completionPromise,
  minIterations: plan.minIterations,
  maxIterations: plan.maxIterations === Infinity ? null : plan.maxIterations,
  usage: facts.usage ?? null,
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
      return { ...view, ...event.agent, iteration: event.iteration, updatedAt: event.at };
    case 'iteration-finished':
      return {
        ...view,
        finished: event.record.iteration,
        usage: addUsage(view.usage, event.record.usage),
        updatedAt: event.at,
      };
    case 'run-ended':
      return { ...view, status: event.reason, detail: event.detail, updatedAt: event.at, endedAt: event.at };
    case 'run-started':
      return { ...view, updatedAt: event.at };
    case 'agent':
    case 'notice':
    case 'waiting':
      return view;
  }
};
