import { withoutControls } from '../text/controls.ts';
import type { TaskCount } from '../ralph/record.ts';
import type { OnRunEvent, RunView } from '../ralph/view.ts';
import { createIncrementalRedactor, type Redactor } from '../secrets/redact.ts';

/** Shows a run. */
export interface Display {
  readonly onEvent: OnRunEvent;
  /** Called before the first iteration if earlier ones are not shown, with the tasks at its start. */
  readonly joinAt?: (tasks: TaskCount | null) => void;
  /** Shows a line that belongs to no event. */
  readonly warn: (line: string) => void;
  /** Removes what is redrawn, so that others can write below. Called when the run ends in any way, maybe repeatedly. */
  readonly dispose: () => void;
}

/** Wraps a reporter so that it receives no secrets. The view of an `agent` event is passed on unredacted: no reporter shows it. */
const withoutSecrets = (report: OnRunEvent, redactor: Pick<Redactor, 'data'>): OnRunEvent => {
  const cleanView = createIncrementalRedactor<RunView>(redactor);
  return (event, view) =>
    report(redactor.data(event), event.type === 'agent' || event.type === 'reviewer' ? view : cleanView(view));
};

/** Removes secrets. */
export const redacted = (display: Display, redactor: Redactor): Display => ({
  ...display,
  onEvent: withoutSecrets(display.onEvent, redactor),
  warn: (line) => display.warn(redactor.text(line)),
});

/** Removes secrets, and control characters except from `run-started`, whose commands the reporter shows escaped. */
export const forTerminal = (display: Display, redactor: Redactor): Display => {
  const original = redacted(display, redactor);
  const clean = withoutSecrets(display.onEvent, redactor.after(withoutControls));
  return {
    ...original,
    onEvent: (event, view) => (event.type === 'run-started' ? original.onEvent : clean)(event, view),
  };
};

/** Removes secrets and control characters from events and views: a program may print any of it. */
export const forProgram = (report: OnRunEvent, redactor: Redactor): OnRunEvent => {
  const { data: clean } = redactor.after(withoutControls);
  const cleanView = createIncrementalRedactor<RunView>({ data: clean });
  return (event, view) => report(clean(event), cleanView(view));
};
