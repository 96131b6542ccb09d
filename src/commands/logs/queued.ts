import { runsIn } from '../../cluster/events.ts';
import { followQueued } from '../../cluster/follow-queued.ts';
import { readPublished } from '../../cluster/published.ts';
import { findQueued, type ListedChange } from '../../cluster/queue.ts';
import { userError } from '../../errors.ts';
import { onStopSignals } from '../../process/signals.ts';
import { isResumable } from '../../ralph/view.ts';
import { say } from '../../report/message.ts';
import { replay } from '../../report/replay.ts';
import { createRedactor } from '../../secrets/redact.ts';
import { iterationFileName } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';
import { displayRecorded, withoutEnd } from '../runs/recorded-display.ts';
import type { Invocation } from '../registry/command.ts';
import { keyOf, type ProjectQueue, tryQueuedChange } from '../with-queue/queued.ts';
import { printRow, viewOf } from '../with-queue/queued-status.ts';
import { endCode } from './ending.ts';
import type { Form } from './logs.ts';

export interface QueuedLogsRequest {
  readonly project: Project;
  readonly form: Form | null;
  readonly follow: boolean;
  readonly onlyReviews: boolean;
  /** null for the current or last one. */
  readonly iteration: number | null;
}

/** Shows a run on other machines. Returns the exit code; null if it is about this checkout. */
export const showQueuedLogs = async (
  url: string,
  invocation: Invocation,
  request: QueuedLogsRequest,
): Promise<number | null> => {
  const { args, rawFlags, terminal } = invocation;
  const { project, form, follow } = request;
  return tryQueuedChange(url, { project, terminal, query: args[0]! }, async (queue, row) => {
    const run = await runOf(queue, row, { wanted: rawFlags.run as string | undefined, follow });
    if (form === 'raw' || form === 'prompt') {
      if (follow) throw userError('two-actions', '--raw', '--follow for a run on another machine');
      return printPublished(queue, row, { ...invocation, ...request, run, what: form === 'raw' ? 'log' : 'prompt' });
    }
    return showEvents(queue, row, { ...invocation, ...request, run });
  });
};

interface RunRequest extends Invocation, QueuedLogsRequest {
  /** null if no worker has started it. */
  readonly run: string | null;
}

/** The requested run, or the last one; null for one that has not started yet. */
const runOf = async (
  queue: ProjectQueue,
  row: ListedChange,
  { wanted, follow }: { readonly wanted: string | undefined; readonly follow: boolean },
): Promise<string | null> => {
  if (wanted !== undefined && wanted !== row.run) {
    const runs = await runsIn(queue.database, keyOf(queue, row.id));
    if (!runs.includes(wanted)) throw userError('no-run', row.id, wanted, runs);
    return wanted;
  }
  const view = viewOf(row);
  const isNext = follow && row.state === 'queued' && (view === null || !isResumable(view));
  return isNext ? null : row.run;
};

const notStarted = (row: ListedChange) =>
  userError('no-log', row.id, 1, 'record', `it is ${row.state}, and no worker has started it yet`);

/** As for a run on this machine, but its end is what `spool status` shows: the commands that come next are others. */
const showEvents = async (queue: ProjectQueue, row: ListedChange, request: RunRequest): Promise<number> => {
  const { project, run, follow, onlyReviews, form, rawFlags, cwd, env, terminal } = request;
  if (run === null && !follow) throw notStarted(row);
  const json = form === 'json';
  const iteration = request.iteration ?? (run === null ? 1 : Math.max(1, row.iteration ?? 1));
  if (run === null) say(terminal, `${row.id} is ${row.state}. It is shown when a worker has started it.`);
  const signals = onStopSignals(() => {});
  const closing = new AbortController();
  terminal.onClosed(() => closing.abort());
  const stop = AbortSignal.any([signals.stop, closing.signal]);
  // In a file, all of it is the result.
  const shownOn = terminal.isInteractive ? terminal : { ...terminal, isInteractive: false, log: terminal.print };
  const verbose = Boolean(rawFlags.verbose);
  const display = displayRecorded({ project, terminal: shownOn, cwd, env, json, verbose, isReplay: !follow });
  const events = followQueued(queue.database, keyOf(queue, row.id), {
    run,
    fromIteration: iteration,
    wait: follow,
    signal: stop,
    onTrouble: (problem) => display.warn(`${problem} Trying again.`),
  });
  try {
    const { view, wasShown } = await replay({
      events,
      iteration,
      follow,
      onlyReviews,
      display: json ? display : withoutEnd(display),
      signal: stop,
      drained: terminal.drained,
    }).finally(display.dispose);
    if (closing.signal.aborted) return 0;
    const stopped = signals.received();
    if (stopped !== null) {
      if (follow) say(terminal, `Stopped following ${row.id}. The run continues on its worker.`);
      return endCode(null, stopped);
    }
    if (!wasShown && !(follow && view !== null))
      throw userError('no-log', row.id, iteration, 'record', whyMissing(row, iteration));
    if (!follow) return 0;
    const now = await findQueued(queue.database, keyOf(queue, row.id));
    if (!json && now !== null) {
      shownOn.log('\n');
      await printRow(queue, now, {
        project,
        terminal: { ...terminal, printResult: shownOn.log },
        env,
        json,
        all: false,
      });
    }
    return endCode(view, null);
  } finally {
    signals.dispose();
  }
};

const whyMissing = ({ iteration: last }: ListedChange, iteration: number): string =>
  last !== null && iteration > last ? `the run has only reached iteration ${last}` : 'the queue has no events of it';

interface FileRequest extends RunRequest {
  readonly what: 'log' | 'prompt';
}

/** Prints a file of a finished iteration, which its worker has pushed with the state of the run. */
const printPublished = async (queue: ProjectQueue, row: ListedChange, request: FileRequest): Promise<number> => {
  const { run, what, onlyReviews, env, terminal } = request;
  if (run === null) throw notStarted(row);
  const iteration = request.iteration ?? Math.max(1, viewOf(row)?.finishedIterations ?? 1);
  const ending = what === 'log' ? 'log' : 'prompt.md';
  const name = iterationFileName(iteration, onlyReviews ? `review.${ending}` : ending);
  const found = await readPublished(row, `state/runs/${run}/${name}`, { url: queue.remote, env });
  if (found === null) throw userError('no-log', row.id, iteration, what, whyUnpublished(row, iteration));
  if ('why' in found) throw userError('no-log', row.id, iteration, what, found.why);
  const redactor = createRedactor(env).stream();
  const bytes = Buffer.concat([Buffer.from(redactor.pass(found)), Buffer.from(redactor.end())]);
  terminal.print(bytes.toString('utf8'));
  return 0;
};

const whyUnpublished = (row: ListedChange, iteration: number): string => {
  const view = viewOf(row);
  if (view === null || iteration > view.iteration) return `the run has only reached iteration ${view?.iteration ?? 0}`;
  return iteration > view.finishedIterations
    ? `its worker pushes it when the iteration is finished`
    : 'the state on the remote does not have it';
};
