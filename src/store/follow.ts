import { setImmediate as nextTurn } from 'node:timers/promises';
import { currentEnvironment } from '../files/environment.ts';
import { sleep } from '../process/timers.ts';
import type { RunEvent } from '../ralph/events.ts';
import { currentStatus, type RunView } from '../ralph/view.ts';
import { createLineFolder } from './fold-lines.ts';
import { openJournalTail } from './journal-tail.ts';
import type { Project } from './project.ts';
import { inOwnWorkspace, loopOwner, readState } from './state.ts';
import { journalFile } from './paths.ts';
import { userStateFolder } from './user-state/folder.ts';
import { asRecorded, recordedEnds } from './user-state/steps.ts';

export interface FollowOptions {
  /** The run to follow. Defaults to the current or last one. */
  readonly run?: string;
  /** Leaves out what agents did in earlier iterations, which is most of a journal. */
  readonly fromIteration?: number;
  /** false: ends after the events written so far. */
  readonly wait?: boolean;
  /** Called whenever everything written so far has been read. */
  readonly onIdle?: () => void;
  /** Abort it to stop following. */
  readonly signal?: AbortSignal;
  /** Locates the user's state folder. Defaults to the current environment. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface FollowedEvent {
  /** null in the last item if the process is gone but the run has no end. */
  readonly event: RunEvent | null;
  /** The view of the run after this event. */
  readonly view: RunView;
  /** Its number in the run, and its time; missing if it is not from a journal. */
  readonly line?: { readonly seq: number; readonly at: string };
}

const pollMs = 100;
/** How often the owner of the lock is checked. */
const aliveMs = 1000;
/** How long other tasks of the process may be blocked. */
const busyMs = 10;

/**
 * Yields the events of a run from its first one on, then those that follow while it runs. Ends after the end of the run,
 * or when its process is gone: then the last view is that of an interrupted run. Agents can write to the journal, so an
 * end counts only if the user state has it. Memory use does not depend on the length of the journal.
 * Rejects if the journal is not a regular file of the user.
 */
export async function* followRun(
  project: Project,
  change: string,
  { run: wanted, signal, fromIteration = 0, wait = true, onIdle, env = currentEnvironment() }: FollowOptions = {},
): AsyncGenerator<FollowedEvent, void, undefined> {
  const run = wanted ?? (await readState(project, change))?.run;
  if (run === undefined) return;
  const isRunning = async () =>
    loopOwner(project, change) !== null && (await readState(project, change).catch(() => null))?.run === run;
  const userState = userStateFolder(project, change, env);
  const isRecordedEnd = createEndCheck(userState, run);
  const journal = openJournalTail(journalFile(project, change, run));
  const fold = createLineFolder({
    run,
    fromIteration,
    isRepeated: journal.isRepeated,
    isEnd: ({ status }) => isRecordedEnd(status),
    adapt: (next) => inOwnWorkspace(project, change, next),
  });
  let view: RunView | null = null;
  let lookedMs = -Infinity;
  /** The process of the run is gone, so the journal is read for the last time. */
  let isLast = false;
  try {
    while (!signal?.aborted) {
      for await (const text of inTurns(journal.newLines(), signal)) {
        const folded = fold(text);
        if (folded.kind === 'ignored') continue;
        journal.accept();
        if (folded.kind === 'left-out') continue;
        view = folded.view;
        yield { event: folded.event, view, line: folded.line };
      }
      if (view !== null && view.status !== 'running') return;
      onIdle?.();
      if (isLast || !wait) break;
      if (performance.now() - lookedMs >= aliveMs) {
        lookedMs = performance.now();
        isLast = !(await isRunning());
        if (isLast) continue;
      }
      await sleep(pollMs, signal);
    }
  } finally {
    journal.close();
  }
  if (!isLast || view === null) return;
  const saved = await readState(project, change).catch(() => null);
  const last = saved?.run === run ? asRecorded(userState, saved) : view;
  yield { event: null, view: { ...last, status: currentStatus(last, false) } };
}

/** Returns whether the user state has the same ends as the journal, in the same order. It has none of a run from elsewhere. */
const createEndCheck = (userState: string, run: string) => {
  let seen = 0;
  return (status: string): boolean => {
    const ends = recordedEnds(userState, run);
    if (ends === null) return true;
    // The journal lacks an end if an agent has deleted the file since.
    const at = ends.indexOf(status, seen);
    if (at !== -1) seen = at + 1;
    return at !== -1;
  };
};

/** Yields lines, and lets other tasks of the process run in between. Stops when aborted. */
async function* inTurns(blocks: Iterable<readonly string[]>, signal?: AbortSignal): AsyncGenerator<string> {
  let sinceMs = performance.now();
  for (const lines of blocks)
    // A block without lines takes time as well.
    for (const line of lines.length === 0 ? [null] : lines) {
      if (performance.now() - sinceMs > busyMs) {
        await nextTurn();
        sinceMs = performance.now();
      }
      if (signal?.aborted) return;
      if (line !== null) yield line;
    }
}
