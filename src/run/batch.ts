import { userError } from '../errors.ts';
import type { Options } from '../config/flags.ts';
import { inGitScope } from '../git/scope.ts';
import { type Claims, claimsOf } from '../changes/requirements.ts';
import type { StopSignals } from '../process/signals.ts';
import type { Project } from '../store/project.ts';
import { tasksOf } from '../changes/work-copy.ts';
import { asRecorded, isKnown, recordFolder } from '../store/record.ts';
import { readState } from '../store/state.ts';
import { countTasks } from '../changes/tasks.ts';
import type { Usage } from '../ralph/events.ts';
import { addUsage, totalUsage } from '../ralph/usage.ts';
import type { RunView } from '../ralph/view.ts';
import type { Reporter } from './services.ts';
import { startRun } from './start.ts';
import type { RunRequest, RunResult } from './request.ts';

export interface BatchRequest extends Omit<
  RunRequest,
  'change' | 'options' | 'batch' | 'reporter' | 'onStopSignals' | 'person'
> {
  readonly changes: readonly string[];
  readonly optionsOf: (change: string) => Options;
  readonly parallel: number;
  readonly reporterOf: (change: string) => Reporter;
  /** Called with what concerns more than one of them. */
  readonly say: (line: string) => void;
  /** Called with why a change could not be run, or why its run broke off. */
  readonly onError: (change: string, error: unknown) => void;
  readonly stopSignals: StopSignals;
}

/** How a change came out of a batch. */
export interface BatchOutcome {
  readonly change: string;
  /** null when it was not started, or could not be. */
  readonly result: RunResult | null;
  /** Why it could not be started; undefined for no error. */
  readonly error?: unknown;
  /** The run as it stands; null when there is none. */
  readonly view: RunView | null;
  /** Why it was not started. */
  readonly note: string | null;
}

/** Runs several changes, one after the other or some at the same time. One that fails does not stop the others. */
export const runBatch = (request: BatchRequest): Promise<BatchOutcome[]> => inGitScope(() => runAll(request));

const runAll = async (request: BatchRequest): Promise<BatchOutcome[]> => {
  const { changes, project } = request;
  refuseOneBranch(request);
  const queue = await Promise.all(changes.map(async (change) => ({ change, claims: await claimsOf(project, change) })));
  const outcomes = await runQueue(request, queue);
  return outcomes.toSorted((a, b) => changes.indexOf(a.change) - changes.indexOf(b.change));
};

/** git checks a branch out in one place only. */
const refuseOneBranch = ({ changes, optionsOf, parallel }: BatchRequest): void => {
  const separate = changes
    .map(optionsOf)
    .filter(({ worktree, branch }) => branch !== null && (worktree || parallel > 1));
  if (new Set(separate.map(({ branch }) => branch)).size < separate.length)
    throw userError('two-actions', '--branch', 'several changes in worktrees');
};

interface QueuedChange {
  readonly change: string;
  readonly claims: Claims;
}

/** Starts what may start whenever something has ended. Two that claim the same requirement never run at the same time. */
const runQueue = async (request: BatchRequest, queue: readonly QueuedChange[]): Promise<BatchOutcome[]> => {
  const waiting = [...queue];
  const running = new Map<string, { queued: QueuedChange; done: Promise<BatchOutcome> }>();
  const outcomes: BatchOutcome[] = [];
  const told = new Set<string>();
  const runOne = createRunner(request);
  while (waiting.length > 0 || running.size > 0) {
    const next =
      request.stopSignals.received() === null && running.size < request.parallel
        ? takeNext(waiting, running, told, request.say)
        : null;
    if (next) {
      running.set(next.change, { queued: next, done: runOne(next.change) });
      continue;
    }
    if (running.size === 0) {
      outcomes.push(
        ...waiting.map(({ change }) => ({ change, result: null, view: null, note: 'interrupted before it began' })),
      );
      return outcomes;
    }
    const ended = await Promise.race([...running.values()].map(({ done }) => done));
    running.delete(ended.change);
    outcomes.push(ended);
  }
  return outcomes;
};

const takeNext = (
  waiting: QueuedChange[],
  running: ReadonlyMap<string, { queued: QueuedChange }>,
  told: Set<string>,
  say: BatchRequest['say'],
): QueuedChange | null => {
  for (const [index, candidate] of waiting.entries()) {
    const clash = [...running.values()]
      .map(({ queued }) => ({ queued, claim: sharedClaim(queued, candidate) }))
      .find(({ claim }) => claim !== null);
    if (!clash) return waiting.splice(index, 1)[0]!;
    if (!told.has(candidate.change))
      say(`${candidate.change} waits for ${clash.queued.change}: both change the requirement "${clash.claim}".`);
    told.add(candidate.change);
  }
  return null;
};

const sharedClaim = (a: QueuedChange, b: QueuedChange): string | null =>
  [...a.claims].find(([compared]) => b.claims.has(compared))?.[1] ?? null;

const noteOf = (isKnown: boolean): string =>
  isKnown
    ? 'complete before; --fresh runs it again'
    : 'complete, says its state.json; it was not run here, and --fresh runs it again';

/** What the runs have in common: signals, what they have spent, and git, which only one of them sets up at a time. */
const createRunner = (request: BatchRequest) => {
  const { project, env, parallel, optionsOf, stopSignals } = request;
  const spent = new Map<string, Usage | null>();
  let lastTurn: Promise<unknown> = Promise.resolve();
  const exclusive = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = lastTurn.then(work, work);
    lastTurn = turn.catch(() => {});
    return turn;
  };

  return async (change: string): Promise<BatchOutcome> => {
    const options = { ...optionsOf(change), ...(parallel > 1 ? { worktree: true } : {}) };
    const saved = await readState(project, change).catch(() => null);
    const folder = recordFolder(project, change, env);
    const before = saved && asRecorded(folder, saved);
    if (before?.status === 'complete' && !options.fresh && !(await hasNewTasks(project, before)))
      return { change, result: null, view: before, note: noteOf(isKnown(folder, before)) };
    const shown = request.reporterOf(change);
    const reporter: Reporter = {
      ...shown,
      onEvent: (event, view) => {
        spent.set(change, addUsage(totalUsage(view), view.currentUsage));
        shown.onEvent(event, view);
      },
    };
    const usageOfOthers = () =>
      [...spent].reduce<Usage | null>((sum, [other, usage]) => (other === change ? sum : addUsage(sum, usage)), null);
    const batch = { exclusive, usageOfOthers, isolateAgentData: parallel > 1 };
    // They are listened to once, for all of them.
    const onStopSignals = () => ({ ...stopSignals, dispose: () => {} });
    try {
      const result = await startRun({ ...request, change, options, reporter, onStopSignals, person: null, batch });
      return { change, result, view: result.view, note: null };
    } catch (error) {
      // Whatever it was, the others go on.
      request.onError(change, error);
      return { change, result: null, error, view: null, note: null };
    }
  };
};

/** A task that was added since it was complete is work to do. */
const hasNewTasks = async (project: Project, { change, tasks }: RunView): Promise<boolean> =>
  countTasks((await tasksOf(project, change)) ?? []).total > (tasks?.total ?? 0);
