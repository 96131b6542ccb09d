import { withoutControls } from '../text/controls.ts';
import type { OnRunEvent, RunView } from '../ralph/view.ts';
import { createRemembering, type Redactor } from '../secrets/redact.ts';

/** The same for a reader that must not see secrets. What an agent does changes nothing in the view that is shown. */
export const withoutSecrets = (report: OnRunEvent, redactor: Pick<Redactor, 'data'>): OnRunEvent => {
  const cleanView = createRemembering<RunView>(redactor);
  return (event, view) => report(redactor.data(event), event.type === 'agent' ? view : cleanView(view));
};

/** The same for a terminal, on which no controls are shown. What a run is started with, a person sees as it is. */
export const forTerminal = (report: OnRunEvent, redactor: Redactor): OnRunEvent => {
  const whole = withoutSecrets(report, redactor);
  const clean = withoutSecrets(report, redactor.after(withoutControls));
  return (event, view) => (event.type === 'run-started' ? whole : clean)(event, view);
};
