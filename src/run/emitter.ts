import { openJournal } from '../store/journal.ts';
import type { Project } from '../store/project.ts';
import { writeStart, writeState } from '../store/save-state.ts';
import type { Emit, RunEvent } from '../ralph/events.ts';
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
  readonly recorder: RunRecorder;
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

/**
 * Writes state.json, then the journal, then calls `report`, which therefore shows nothing that is not on disk. An error
 * in `report` does not stop the run. `run-ended` is the last event: later notices go to `warn`.
 */
export const createEmitter = (parts: EmitterParts): Emitter => {
  const { project, planned, warn, redactor } = parts;
  const state = initialState(parts);
  const journal = openJournal(journalFile(project, planned.plan.change, planned.plan.run), {
    change: planned.plan.change,
    redactor,
    onProblem: (problem) => reportNotice(state, `This run cannot be followed: ${problem}`),
  });
  const timer = setInterval(() => saveAgain(state), saveIntervalMs).unref();
  return {
    emit: (event) => {
      // Such as a signal while the notify command runs.
      if (state.isEnded && event.type === 'notice') return warn(event.text);
      applyEvent(state, event);
      journal.append(event, state.view);
      state.isEnded = event.type === 'run-ended';
      reportSafely(state, event);
    },
    view: () => state.view,
    saveError: (error) => saveError(state, error),
    dispose: () => {
      clearInterval(timer);
      journal.dispose();
    },
  };
};

interface EmitterState extends EmitterParts {
  readonly clean: (view: RunView) => RunView;
  view: RunView;
  /** state.json is that of this run. */
  isStarted: boolean;
  isEnded: boolean;
}

const initialState = (parts: EmitterParts): EmitterState => {
  const { plan, previous, settings } = parts.planned;
  const at = new Date().toISOString();
  const view = initialView(plan, {
    pid: parts.pid,
    startedAt: previous?.view.startedAt ?? at,
    previous: previous && restartWait(previous.view),
    settings,
    at,
  });
  return { ...parts, clean: createIncrementalRedactor(parts.redactor), view, isStarted: false, isEnded: false };
};

/** Restarts the wait for a usage limit: the time while the run was interrupted does not count. */
const restartWait = (view: RunView): RunView => ({
  ...view,
  deferredSinceMs: view.deferredSinceMs === null ? null : Date.now(),
});

/** Reduces the event to the view, and saves it. */
const applyEvent = (state: EmitterState, event: RunEvent): void => {
  const { project, recorder, clean } = state;
  const next = reduceView(state.view, event);
  if (event.type === 'run-started') recorder.starting(next, publicView(next, clean));
  if (event.type === 'run-ended') recorder.ending(next);
  if (savedLater.has(event.type)) state.view = next;
  else if (next !== state.view) save(state, next);
  if (event.type !== 'run-started') return;
  recorder.started(state.view);
  writeStart(project, publicView(state.view, clean));
};

const save = (state: EmitterState, next: RunView): void => {
  state.view = { ...next, elapsedMs: state.elapsedMs() };
  writeState(state.project, publicView(state.view, state.clean));
  state.isStarted = true;
};

const saveAgain = (state: EmitterState): void => {
  try {
    if (state.isStarted && !state.isEnded) save(state, state.view);
  } catch {
    // The disk may be full. The next event fails with the error.
  }
};

const saveError = (state: EmitterState, error: string): void => {
  try {
    if (state.isStarted && !state.isEnded) save(state, { ...state.view, error });
  } catch {
    // It may be the error itself that keeps the state from being written.
  }
};

const reportNotice = (state: EmitterState, text: string): void =>
  state.isEnded ? state.warn(text) : reportSafely(state, { type: 'notice', text });

const reportSafely = (state: EmitterState, event: RunEvent): void => {
  try {
    state.report(event, state.view);
  } catch {
    // The terminal may be closed.
  }
};
