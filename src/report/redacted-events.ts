import { withoutControls } from '../text/controls.ts';
import type { OnRunEvent, RunView } from '../ralph/view.ts';
import { createIncrementalRedactor, type Redactor } from '../secrets/redact.ts';

/** Wraps a reporter so that it receives no secrets. The view of an `agent` event is passed on unredacted: no reporter shows it. */
export const withoutSecrets = (report: OnRunEvent, redactor: Pick<Redactor, 'data'>): OnRunEvent => {
  const cleanView = createIncrementalRedactor<RunView>(redactor);
  return (event, view) => report(redactor.data(event), event.type === 'agent' ? view : cleanView(view));
};

/** Removes secrets, and control characters except from `run-started`, whose commands the reporter shows escaped. */
export const forTerminal = (report: OnRunEvent, redactor: Redactor): OnRunEvent => {
  const original = withoutSecrets(report, redactor);
  const clean = withoutSecrets(report, redactor.after(withoutControls));
  return (event, view) => (event.type === 'run-started' ? original : clean)(event, view);
};

/** Removes secrets and control characters from events and views: a program may print any of it. */
export const forProgram = (report: OnRunEvent, redactor: Redactor): OnRunEvent => {
  const { data: clean } = redactor.after(withoutControls);
  const cleanView = createIncrementalRedactor<RunView>({ data: clean });
  return (event, view) => report(clean(event), cleanView(view));
};
