import { userError } from '../errors.ts';
import type { Change } from '../changes/source.ts';
import { type Claims, claimsOf } from '../changes/requirements.ts';
import { withGitScope } from '../git/call/scope.ts';
import type { StopSignals } from '../process/signals.ts';
import type { Project } from '../store/project.ts';
import { type BatchQueue, openBatchQueue } from '../store/batch-queue.ts';
import { tasksOf } from '../changes/tasks/current.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { isKnown } from '../store/user-state/identity.ts';
import { asRecorded } from '../store/user-state/steps.ts';
import { readState } from '../store/state.ts';
import { countTasks } from '../changes/tasks/task.ts';
import type { Usage } from '../ralph/agent-events.ts';
import { afterRequest, asksToStop, type Requested } from '../ralph/control.ts';
import { addUsage, spentUsage } from '../ralph/usage.ts';
import type { RunResult, RunView } from '../ralph/view.ts';
import { schedule } from './schedule.ts';
import type { Batch, CommonServices, Reporter } from './services.ts';
import { startRun } from './start.ts';
import type { RunSpec } from './spec.ts';

/** The services that the runs of a batch share. */
export interface BatchServices extends CommonServices {
  readonly parallel: number;
  readonly reporterOf: (change: string) => Reporter;
  /** Called with lines that concern more than one run. */
  readonly announce: (line: string) => void;
  /** Called for a change that is not run, maybe repeatedly. */
  readonly onSkipped: (change: string) => void;
  /** Called when a change could not be started, or its run failed with an error. */
  readonly onError: (change: string, error: unknown) => void;
  readonly stopSignals: StopSignals;
}

export interface BatchOutcome {
  readonly change: string;
  /** null if it was not started, could not be, or failed with an error. */
  readonly result: RunResult | null;
  /** Why it could not be started, or why its run failed. */
  readonly error?: unknown;
  /** The last run of the change; null if there is none. */
  readonly view: RunView | null;
  /** Why it was not started. */
  readonly detail: string | null;
  /** Another process has removed it from the queue. */
  readonly isRemoved?: true;
}

interface BatchChange {
  readonly spec: RunSpec;
  readonly claims: Claims;
}

/** Runs several changes, in sequence or in parallel. One that fails does not stop the others. */
export const runBatch = (specs: readonly RunSpec[], services: BatchServices): Promise<BatchOutcome[]> =>
  withGitScope(() => runAll(specs, services));

const runAll = async (specs: readonly RunSpec[], services: BatchServices): Promise<BatchOutcome[]> => {
  const { parallel, announce, stopSignals } = services;
  checkBranches(specs, parallel);
  const changes = specs.map((spec) => ({ spec, claims: claimsIfReadable(spec) }));
  const requests = createSharedRequests();
  const queue = watchQueue(specs, services);
  const { results, interrupted } = await schedule<BatchChange, BatchOutcome>(changes, {
    parallel,
    conflict: (one, other) => sharedClaim(one, other) !== null,
    onBlocked: (item, by) =>
      announce(
        `${idOf(item.spec)} waits for ${idOf(by.spec)}: both change the requirement "${sharedClaim(by, item)}".`,
      ),
    run: createRunner({ ...services, queue }, requests),
    isStopped: () => stopSignals.received() !== null || asksToStop(requests.requested()),
  })
    .then((ended) => ({ results: ended.results, interrupted: ended.notStarted.map(unstartedOutcome(queue)) }))
    .finally(queue.dispose);
  const order = specs.map(idOf);
  return [...results, ...interrupted].toSorted((a, b) => order.indexOf(a.change) - order.indexOf(b.change));
};

const idOf = ({ target }: RunSpec): string => target.id;

/** A change that cannot be read is reported when it is its turn. */
const claimsIfReadable = ({ target, project }: RunSpec): Claims => {
  try {
    return claimsOf(target, project.root);
  } catch {
    return new Map();
  }
};

/** Another process may have removed it from the queue before the batch was interrupted. */
const unstartedOutcome =
  (queue: Pick<BatchQueue, 'dequeue'>) =>
  ({ spec }: BatchChange): BatchOutcome => {
    const change = idOf(spec);
    return queue.dequeue(change) ? { change, result: null, view: null, detail: 'interrupted' } : removedOutcome(change);
  };

const removedOutcome = (change: string): BatchOutcome => ({
  change,
  result: null,
  view: null,
  detail: 'removed from the queue',
  isRemoved: true,
});

/** How often the queue is looked at. */
const queueMs = 500;

/** Lists the changes that have not started yet, and announces those that another process removes from the queue. */
const watchQueue = (
  specs: readonly RunSpec[],
  { announce, onSkipped }: BatchServices,
): Pick<BatchQueue, 'dequeue' | 'dispose'> => {
  const left = new Set(specs.map(idOf));
  const queue = openBatchQueue(specs[0]!.project, [...left]);
  const announceRemoval = (change: string): void => {
    if (!left.delete(change)) return;
    announce(`${change} was removed from the queue.`);
    onSkipped(change);
  };
  const timer = setInterval(() => [...left].filter(queue.isRemoved).forEach(announceRemoval), queueMs).unref();
  return {
    dequeue: (change) => {
      const mayStart = queue.dequeue(change);
      if (mayStart) left.delete(change);
      else announceRemoval(change);
      return mayStart;
    },
    dispose: () => {
      clearInterval(timer);
      queue.dispose();
    },
  };
};

/** git can check out a branch in only one worktree. */
const checkBranches = (specs: readonly RunSpec[], parallel: number): void => {
  const branches = specs.flatMap(({ options: { worktree, branch } }) =>
    branch !== null && (worktree || parallel > 1) ? [branch] : [],
  );
  if (new Set(branches).size < branches.length)
    throw userError('two-actions', '--branch', 'several changes in worktrees');
};

const sharedClaim = (a: BatchChange, b: BatchChange): string | null =>
  [...a.claims].find(([compared]) => b.claims.has(compared))?.[1] ?? null;

/** Returns a function that runs one change. The runs share a budget, and set up their worktrees one at a time. */
const createRunner = (
  services: BatchServices & { readonly queue: Pick<BatchQueue, 'dequeue'> },
  requests: Pick<Batch, 'requested' | 'request'>,
) => {
  const { parallel, stopSignals, env, queue } = services;
  const budget = createSharedBudget();
  const exclusive = createMutex();

  return async ({ spec: given }: BatchChange): Promise<BatchOutcome> => {
    const change = idOf(given);
    if (!queue.dequeue(change)) return removedOutcome(change);
    const spec = { ...given, options: { ...given.options, ...(parallel > 1 ? { worktree: true } : {}) } };
    // If it cannot be read, the run says why.
    const done = spec.options.fresh ? null : await alreadyComplete(spec, env).catch(() => null);
    if (done !== null) {
      services.onSkipped(change);
      return { change, result: null, ...done };
    }
    const batch: Batch = {
      ...requests,
      exclusive,
      usageOfOthers: () => budget.usageOfOthers(change),
      isolateAgentData: parallel > 1,
    };
    let last: RunView | null = null;
    const reporter = budget.counting(change, services.reporterOf(change), (view) => (last = view));
    // One listener serves all runs.
    const onStopSignals = () => ({ ...stopSignals, dispose: () => {} });
    try {
      const result = await startRun(spec, { ...services, reporter, onStopSignals, person: null, batch });
      return { change, result, view: result.view, detail: null };
    } catch (error) {
      services.onError(change, error);
      return { change, result: null, error, view: asFailed(last), detail: null };
    }
  };
};

/** state.json still says `running` for a run that failed with an error, so that it can be resumed. */
const asFailed = (view: RunView | null): RunView | null => view && { ...view, status: 'failed' };

/** Returns the last run of a change if it is complete and no task was added since; null otherwise. */
const alreadyComplete = async (
  { project, target }: RunSpec,
  env: NodeJS.ProcessEnv,
): Promise<{ view: RunView; detail: string } | null> => {
  const saved = await readState(project, target.id).catch(() => null);
  const folder = userStateFolder(project, target.id, env);
  const view = saved && asRecorded(folder, saved);
  if (view?.status !== 'complete' || (await hasNewTasks(project, target, view))) return null;
  const detail = isKnown(folder, view)
    ? 'already complete (--fresh to run it again)'
    : 'already complete according to its state.json, but it was not run here (--fresh to run it again)';
  return { view, detail };
};

const hasNewTasks = async (project: Project, target: Change, { tasks }: RunView): Promise<boolean> =>
  countTasks((await tasksOf(project, target)) ?? []).total > (tasks?.total ?? 0);

const createSharedRequests = (): Pick<Batch, 'requested' | 'request'> => {
  let requested: Requested = null;
  return {
    requested: () => requested,
    request: (request) => {
      requested = afterRequest(requested, request);
    },
  };
};

const createSharedBudget = () => {
  const usages = new Map<string, Usage | null>();
  return {
    counting: (change: string, reporter: Reporter, onView: (view: RunView) => void): Reporter => ({
      ...reporter,
      onEvent: (event, view) => {
        onView(view);
        usages.set(change, spentUsage(view));
        reporter.onEvent(event, view);
      },
    }),
    usageOfOthers: (change: string): Usage | null =>
      [...usages].reduce<Usage | null>((sum, [other, usage]) => (other === change ? sum : addUsage(sum, usage)), null),
  };
};

const createMutex = (): Batch['exclusive'] => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work, work);
    last = turn.catch(() => {});
    return turn;
  };
};
