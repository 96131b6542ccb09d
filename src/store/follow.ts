import { closeSync, fstatSync, lstatSync, readSync, type Stats } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as delay } from 'node:timers/promises';
import { openSafely } from '../files/safe.ts';
import type { RunEvent } from '../ralph/events.ts';
import { reduceView } from '../ralph/reduce-view.ts';
import { currentStatus, type RunView } from '../ralph/view.ts';
import { parseJournalLine } from './event-format.ts';
import type { Project } from './project.ts';
import { inOwnWorkspace, loopOwner, readState } from './state.ts';
import { journalFile } from './paths.ts';

export interface FollowOptions {
  /** The run to follow; the current one, or the last one, when it is not given. */
  readonly run?: string;
  /** Aborted to stop following. */
  readonly signal?: AbortSignal;
}

export interface FollowedEvent {
  /** null in the last item of a run whose process is gone without an end of the run. */
  readonly event: RunEvent | null;
  /** The run after this event, as the run itself has it. */
  readonly view: RunView;
}

const pollMs = 100;
/** How often the owner of the lock is looked for while nothing is written. */
const aliveMs = 1000;

/**
 * Yields the events of a run from its first one on, then those that follow while it runs. Ends after the end of the run,
 * or when its process is gone: then the last view is that of an interrupted run. What it needs of memory does not depend
 * on the length of the journal. Rejects when something that is not a file of the user is in place of the journal.
 */
export async function* followRun(
  project: Project,
  change: string,
  { run: wanted, signal }: FollowOptions = {},
): AsyncGenerator<FollowedEvent, void, undefined> {
  const run = wanted ?? (await readState(project, change))?.run;
  if (run === undefined) return;
  const isRunning = async () =>
    loopOwner(project, change) !== null && (await readState(project, change).catch(() => null))?.run === run;
  const journal = openTail(journalFile(project, change, run));
  let view: RunView | null = null;
  let lastSeq = 0;
  let sinceAliveMs = aliveMs;
  /** The process of the run is gone, so this is the last look. */
  let isLast = false;
  try {
    while (!signal?.aborted) {
      let hasGrown = false;
      for (const text of journal.newLines()) {
        hasGrown = true;
        const line = parseJournalLine(text);
        if (line === undefined || (journal.isRepeated() && line.seq <= lastSeq)) continue;
        lastSeq = line.seq;
        const { event, elapsedMs } = line;
        if (line.view) view = inOwnWorkspace(project, change, line.view);
        else if (view !== null) view = { ...reduceView(view, event), elapsedMs };
        if (view?.run === run) yield { event, view };
        if (signal?.aborted) return;
      }
      if (view !== null && view.status !== 'running') return;
      if (isLast) break;
      if (hasGrown) sinceAliveMs = 0;
      if (sinceAliveMs >= aliveMs) {
        isLast = !(await isRunning());
        sinceAliveMs = 0;
        if (isLast) continue;
      }
      await delay(pollMs, undefined, { signal }).catch(() => {});
      sinceAliveMs += pollMs;
    }
  } finally {
    journal.close();
  }
  if (!isLast || view === null) return;
  const saved = await readState(project, change).catch(() => null);
  const last = saved?.run === run ? saved : view;
  yield { event: null, view: { ...last, status: currentStatus(last, false) } };
}

const blockSize = 64 * 1024;
/** No line of a journal is longer; others can write longer ones, which are passed over without being held. */
const maxLine = 16 * 1024 * 1024;

/** The whole lines of a file that grows, and that may be deleted and created again. */
const openTail = (path: string) => {
  let opened: { readonly file: number; readonly stats: Stats } | null = null;
  let position = 0;
  let isRepeated = false;
  let open = createOpenLine();
  const block = Buffer.alloc(blockSize);

  const close = () => {
    if (opened !== null) closeSync(opened.file);
    opened = null;
  };
  /** The file under this name now; null when there is none. */
  const ensureOpen = () => {
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (opened !== null && there?.ino === opened.stats.ino && there.dev === opened.stats.dev && there.size >= position)
      return opened;
    isRepeated ||= opened !== null;
    close();
    [position, open] = [0, createOpenLine()];
    if (there === undefined) return null;
    try {
      const file = openSafely(path, 'read');
      return (opened = { file, stats: fstatSync(file) });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  };

  return {
    /** The file was replaced: what is in it may have been read before. */
    isRepeated: () => isRepeated,
    *newLines(): Generator<string> {
      const current = ensureOpen();
      if (current === null) return;
      for (;;) {
        const length = readSync(current.file, block, 0, blockSize, position);
        if (length === 0) return;
        position += length;
        yield* open.add(block.subarray(0, length));
      }
    },
    close,
  };
};

/** Collects the parts of a line that has no end yet. */
const createOpenLine = () => {
  let decoder = new StringDecoder('utf8');
  let held = '';
  let isTooLong = false;
  return {
    *add(bytes: Buffer): Generator<string> {
      const parts = decoder.write(bytes).split('\n');
      for (const [index, part] of parts.entries()) {
        held = isTooLong ? '' : held + part;
        if (index < parts.length - 1) {
          if (!isTooLong) yield held;
          [held, isTooLong] = ['', false];
        } else if (held.length > maxLine) {
          [held, isTooLong] = ['', true];
          decoder = new StringDecoder('utf8');
        }
      }
    },
  };
};
