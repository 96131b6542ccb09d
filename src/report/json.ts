import { safeJson } from '../text/controls.ts';
import type { Display } from './display.ts';
import { say } from './message.ts';
import type { Terminal } from './terminal.ts';

/** Prints events as newline-delimited JSON. The last one includes the view; with `change`, each event names it. */
export const createJsonReporter = (terminal: Terminal, change?: string): Display => ({
  onEvent: (event, view) => {
    const whole = event.type === 'run-ended' ? { ...event, view } : event;
    const line = change === undefined ? whole : { change, ...whole };
    terminal.print(`${safeJson(line)}\n`);
  },
  warn: (text) => say(terminal, text),
  dispose: () => {},
});
