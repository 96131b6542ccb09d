import { withoutControls } from '../controls.ts';
import type { RunEvent } from '../ralph/events.ts';
import type { RunView } from '../ralph/view.ts';
import { createRemembering, type Redactor } from '../redact.ts';

/** A reader of a run: called with every event, and with the view that it led to. */
export type Report = (event: RunEvent, view: RunView) => void;

/** The same for a reader that must not see secrets. What an agent does changes nothing in the view that is shown. */
export const withoutSecrets = (report: Report, redactor: Pick<Redactor, 'data'>): Report => {
  const cleanView = createRemembering<RunView>(redactor);
  return (event, view) => report(redactor.data(event), event.type === 'agent' ? view : cleanView(view));
};

/** The same for a terminal, on which no controls are shown. What a run is started with, a person sees as it is. */
export const forTerminal = (report: Report, redactor: Redactor): Report => {
  const whole = withoutSecrets(report, redactor);
  const clean = withoutSecrets(report, redactor.after(withoutControls));
  return (event, view) => (event.type === 'run-started' ? whole : clean)(event, view);
};
