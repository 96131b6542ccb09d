import { systemProblem, UserError, userError } from '../../errors.ts';
import type { Options } from '../../flags.ts';
import { type Claims, claimsOf } from '../../project/claims.ts';
import type { Project } from '../../project/find.ts';
import { tasksOf } from '../../project/overview.ts';
import { asRecorded, isKnown, recordFolder } from '../../project/record.ts';
import { readState } from '../../project/state.ts';
import { countTasks } from '../../project/tasks.ts';
import { type Usage } from '../../ralph/events.ts';
import { addUsage } from '../../ralph/usage.ts';
import { totalUsage } from '../../ralph/usage.ts';
import type { RunView } from '../../ralph/view.ts';
import { createRedactor } from '../../redact.ts';
import { type Board, createBoard, type Outcome, renderOutcomes } from '../../report/board.ts';
import { createJsonReport } from '../../report/json.ts';
import { forTerminal, type Report, withoutSecrets } from '../../report/report.ts';
import { type RunRequest, startRun } from './run.ts';
import { exitCodeOf, listenForStops, type Stops } from './signals.ts';

export interface ManyRequest extends Omit<RunRequest, 'change' | 'options' | 'shared'> {
  readonly changes: readonly string[];
  readonly optionsOf: (change: string) => Options;
  readonly parallel: number;
}

/** Runs several changes, one after the other or some at the same time. One that fails does not stop the others. */
export const runMany = async (request: ManyRequest): Promise<number> => {
  const { call, changes } = request;
  refuseOneBranch(request);
  const board = createBoard(call.terminal);
  const stops = listenForStops((signal) => board.say(`${signal}: ending what runs; once more kills it now.`));
  try {
    const queue = await Promise.all(
      changes.map(async (change) => ({ change, claims: await claimsOf(request.project, change) })),
    );
    const outcomes = await runQueue(request, queue, { board, stops });
    board.dispose();
    const sorted = outcomes.toSorted((a, b) => changes.indexOf(a.change) - changes.indexOf(b.change));
    call.terminal.say(`\n${renderOutcomes(sorted).join('\n')}\n`);
    const signal = stops.received();
    return signal === null ? worst(sorted.map(({ code }) => code)) : exitCodeOf(signal);
  } finally {
    board.dispose();
    stops.dispose();
  }
};

/** git checks a branch out in one place only. */
const refuseOneBranch = ({ changes, optionsOf, parallel }: ManyRequest): void => {
  const apart = changes.map(optionsOf).filter(({ worktree, branch }) => branch !== null && (worktree || parallel > 1));
  if (new Set(apart.map(({ branch }) => branch)).size < apart.length)
    throw userError('two-actions', '--branch', 'several changes in worktrees');
};

interface Queued {
  readonly change: string;
  readonly claims: Claims;
}

interface Company {
  readonly board: Board;
  readonly stops: Stops;
}

/** Starts what may start whenever something has ended. Two that claim the same requirement never run at the same time. */
const runQueue = async (request: ManyRequest, queue: readonly Queued[], company: Company): Promise<Outcome[]> => {
  const waiting = [...queue];
  const running = new Map<string, { queued: Queued; done: Promise<Outcome> }>();
  const outcomes: Outcome[] = [];
  const told = new Set<string>();
  const runOne = createRunner(request, company);
  while (waiting.length > 0 || running.size > 0) {
    const next =
      company.stops.received() === null && running.size < request.parallel
        ? takeNext(waiting, running, told, company.board)
        : null;
    if (next) {
      running.set(next.change, { queued: next, done: runOne(next.change) });
      continue;
    }
    if (running.size === 0) {
      outcomes.push(
        ...waiting.map(({ change }) => ({ change, code: 0, view: null, note: 'interrupted before it began' })),
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
  waiting: Queued[],
  running: ReadonlyMap<string, { queued: Queued }>,
  told: Set<string>,
  board: Board,
): Queued | null => {
  for (const [index, candidate] of waiting.entries()) {
    const clash = [...running.values()]
      .map(({ queued }) => ({ queued, claim: sharedClaim(queued, candidate) }))
      .find(({ claim }) => claim !== null);
    if (!clash) return waiting.splice(index, 1)[0]!;
    if (!told.has(candidate.change))
      board.say(`${candidate.change} waits for ${clash.queued.change}: both change the requirement "${clash.claim}".`);
    told.add(candidate.change);
  }
  return null;
};

const sharedClaim = (a: Queued, b: Queued): string | null =>
  [...a.claims].find(([compared]) => b.claims.has(compared))?.[1] ?? null;

const noteOf = (isKnown: boolean): string =>
  isKnown
    ? 'complete before; --fresh runs it again'
    : 'complete, says its state.json; it was not run here, and --fresh runs it again';

/** What the runs have in common: signals, what they have spent, and git, which only one of them sets up at a time. */
const createRunner = (request: ManyRequest, { board, stops }: Company) => {
  const { project, call, parallel, optionsOf } = request;
  const spent = new Map<string, Usage | null>();
  let gate: Promise<unknown> = Promise.resolve();
  const exclusive = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = gate.then(work, work);
    gate = turn.catch(() => {});
    return turn;
  };

  return async (change: string): Promise<Outcome> => {
    const options = { ...optionsOf(change), ...(parallel > 1 ? { worktree: true } : {}) };
    const saved = await readState(project, change).catch(() => null);
    const folder = recordFolder(project, change, call.env);
    const before = saved && asRecorded(folder, saved);
    if (before?.status === 'complete' && !options.fresh && !(await hasNewTasks(project, before)))
      return { change, code: 0, view: before, note: noteOf(isKnown(folder, before)) };
    const json = options.json ? createJsonReport(call.terminal, change) : null;
    const follow: Report = (event, view) => {
      spent.set(change, addUsage(totalUsage(view), view.spentNow));
      shown?.(event, view);
    };
    const reader = json ?? (parallel > 1 ? board.reportOf(change) : null);
    const redactor = createRedactor(call.env);
    const shown = reader && (json ? withoutSecrets(reader, redactor) : forTerminal(reader, redactor));
    const usageOfOthers = () =>
      [...spent].reduce<Usage | null>((sum, [other, usage]) => (other === change ? sum : addUsage(sum, usage)), null);
    try {
      const shared = {
        follow,
        quiet: parallel > 1 || json !== null,
        stops,
        exclusive,
        usageOfOthers,
        apart: parallel > 1,
      };
      const code = await startRun({ ...request, change, options, shared });
      return { change, code, view: await readState(project, change), note: null };
    } catch (error) {
      // Whatever it was, the others go on.
      const { code, text } = describeError(error);
      board.say(`${change}: ${text}`);
      return { change, code, view: null, note: text.split('\n')[0]! };
    }
  };
};

/** A task that was added since it was complete is work to do. */
const hasNewTasks = async (project: Project, { change, tasks }: RunView): Promise<boolean> =>
  countTasks((await tasksOf(project, change)) ?? []).all > (tasks?.all ?? 0);

/** What the user or the system did is one line; a bug of ours comes with its stack. */
const describeError = (error: unknown): { code: number; text: string } => {
  if (error instanceof UserError) return { code: error.exitCode, text: error.message };
  const { syscall, stack } = error as NodeJS.ErrnoException;
  return syscall === undefined && stack ? { code: 70, text: stack } : { code: 1, text: systemProblem(error) };
};

/** From the worst to the best. */
const severity = [70, 1, 2, 4, 3, 0];

const worst = (codes: readonly number[]): number =>
  severity.find((code) => codes.includes(code)) ?? Math.max(0, ...codes);
