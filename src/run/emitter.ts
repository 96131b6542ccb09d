import { openJournal } from '../store/journal.ts';
import type { Project } from '../store/project.ts';
import { writeStart, writeState } from '../store/save-state.ts';
import type { Emit } from '../ralph/events.ts';
import { publicView, type RunView, type OnRunEvent } from '../ralph/view.ts';
import { initialView, reduceView } from '../ralph/reduce-view.ts';
import { createIncrementalRedactor, type Redactor } from '../secrets/redact.ts';
import type { Planned } from './plan/plan.ts';
import { journalFile } from '../store/paths.ts';

export interface Emitter {
  readonly emit: Emit;
  view(): RunView;
  /** Saves the error with which Spool ends, if the state can be written. */
  saveError(problem: string): void;
  dispose(): void;
}

export interface EmitterParts {
  readonly project: Project;
  readonly planned: Planned;
  /** The process that owns the run. */
  readonly pid: number;
  readonly report: OnRunEvent;
  /** Called with a notice that comes after the end of the run, which belongs to no event. */
  readonly warn: (text: string) => void;
  readonly elapsedMs: () => number;
  readonly record: RunRecorder;
  readonly redactor: Redactor;
}

/** Records what later decisions rely on, out of reach of agents. */
interface RunRecorder {
  /** Called before state.json says that the run has started. `written` is the version with secrets redacted. */
  starting(view: RunView, written: RunView): void;
  /** Called after state.json says so. */
  started(view: RunView): void;
  /** Called before state.json says that the run has ended. */
  ending(view: RunView): void;
}

/** How often time and usage are saved: a kill loses no more than this. */
export const saveIntervalMs = 10_000;

/**
 * Events that do not save the state themselves. Those of agents are too frequent; a finished iteration is in the
 * history, and another event follows.
 */
const savedLater = new Set(['agent', 'iteration-finished']);

/** Restarts the wait for a usage limit: the time while the run was interrupted does not count. */
const restartWait = (view: RunView): RunView => ({
  ...view,
  deferredSinceMs: view.deferredSinceMs === null ? null : Date.now(),
});

/**
 * Writes state.json, then the journal, then calls `report`, which therefore shows nothing that is not on disk. An error
 * in `report` does not stop the run. `run-ended` is the last event: later notices go to `warn`.
 */
export const createEmitter = ({
  project,
  planned,
  pid,
  report,
  warn,
  elapsedMs,
  record,
  redactor,
}: EmitterParts): Emitter => {
  const { plan, previous, settings } = planned;
  const at = new Date().toISOString();
  const startedAt = previous?.view.startedAt ?? at;
  let view = initialView(plan, {
    pid,
    startedAt,
    previous: previous && restartWait(previous.view),
    settings,
    at,
  });
  const clean = createIncrementalRedactor<RunView>(redactor);
  const safeReport: Emit = (event) => {
    try {
      report(event, view);
    } catch {
      // The terminal may be closed.
    }
  };
  let started = false;
  let ended = false;
  const notice = (text: string) => (ended ? warn(text) : safeReport({ type: 'notice', text }));
  const journal = openJournal(journalFile(project, plan.change, plan.run), {
    redactor,
    onProblem: (problem) => notice(`This run cannot be followed: ${problem}`),
  });
  const save = (next: RunView) => {
    view = { ...next, elapsedMs: elapsedMs() };
    writeState(project, publicView(view, clean));
    started = true;
  };
  const timer = setInterval(() => {
    try {
      if (started) save(view);
    } catch {
      // The disk may be full. The next event fails with the error.
    }
  }, saveIntervalMs).unref();
  return {
    emit: (event) => {
      // Such as a signal while the notify command runs.
      if (ended && event.type === 'notice') return warn(event.text);
      const next = reduceView(view, event);
      if (event.type === 'run-started') record.starting(next, publicView(next, clean));
      if (event.type === 'run-ended') record.ending(next);
      if (savedLater.has(event.type)) view = next;
      else if (next !== view) save(next);
      if (event.type === 'run-started') {
        record.started(view);
        writeStart(project, publicView(view, clean));
      }
      journal.append(event, view);
      ended = event.type === 'run-ended';
      safeReport(event);
    },
    view: () => view,
    saveError: (error) => {
      try {
        if (started && !ended) save({ ...view, error });
      } catch {
        // It may be the error itself that keeps the state from being written.
      }
    },
    dispose: () => {
      clearInterval(timer);
      journal.dispose();
    },
  };
};
