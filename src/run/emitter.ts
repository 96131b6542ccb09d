import { journalFile, openJournal } from '../store/events.ts';
import type { Project } from '../store/project.ts';
import { writeStart, writeState } from '../store/save-state.ts';
import type { Emit } from '../ralph/events.ts';
import { publicView, type RunView } from '../ralph/view.ts';
import { initialView, reduceView } from '../ralph/fold.ts';
import { createRemembering, type Redactor } from '../secrets/redact.ts';
import type { OnRunEvent } from '../ralph/view.ts';
import type { Planned } from './plan.ts';

export interface Emitter {
  readonly emit: Emit;
  view(): RunView;
  dispose(): void;
}

export interface EmitterParts {
  readonly project: Project;
  readonly planned: Planned;
  /** The process that owns the run. */
  readonly pid: number;
  readonly report: OnRunEvent;
  readonly elapsedMs: () => number;
  readonly record: RunRecorder;
  readonly redactor: Redactor;
}

/** Keeps what decides something later, out of the reach of agents. */
interface RunRecorder {
  /** Called before a run is written to state.json as started, with the run and with what is written of it. */
  starting(view: RunView, written: RunView): void;
  /** Called after that. */
  started(view: RunView): void;
  /** Called before it is written as ended. */
  ending(view: RunView): void;
}

/** How often time and usage are written down, so that a kill costs no more of them. */
export const beatMs = 10_000;

/** What an agent uses comes often, and is written with the next beat or event. A record is in the history already, and an event follows at once. */
const isWrittenLater = new Set(['agent', 'iteration-finished']);

/** What it waited while nobody ran it does not count. */
const resumedAt = (view: RunView): RunView => ({
  ...view,
  deferredSinceMs: view.deferredSinceMs === null ? null : Date.now(),
});

/** Writes state.json first, then the journal, then calls the reader: it shows nothing that is not on disk, and cannot stop the run. */
export const createEmitter = ({
  project,
  planned,
  pid,
  report,
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
    previous: previous && resumedAt(previous.view),
    settings,
    at,
  });
  const clean = createRemembering<RunView>(redactor);
  const tell: Emit = (event) => {
    try {
      report(event, view);
    } catch {
      // A terminal that is gone.
    }
  };
  const journal = openJournal(journalFile(project, plan.change, plan.run), {
    redactor,
    onProblem: (problem) => tell({ type: 'notice', text: `This run cannot be followed: ${problem}` }),
  });
  let started = false;
  const keep = (next: RunView) => {
    view = { ...next, elapsedMs: elapsedMs() };
    writeState(project, publicView(view, clean));
    started = true;
  };
  const timer = setInterval(() => {
    try {
      if (started) keep(view);
    } catch {
      // A full disk: the next event says so.
    }
  }, beatMs).unref();
  return {
    emit: (event) => {
      const next = reduceView(view, event);
      if (event.type === 'run-started') record.starting(next, publicView(next, clean));
      if (event.type === 'run-ended') record.ending(next);
      if (isWrittenLater.has(event.type)) view = next;
      else if (next !== view) keep(next);
      if (event.type === 'run-started') {
        record.started(view);
        writeStart(project, publicView(view, clean));
      }
      journal.append(event, view);
      tell(event);
    },
    view: () => view,
    dispose: () => {
      clearInterval(timer);
      journal.dispose();
    },
  };
};
