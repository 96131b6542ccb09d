import { safeJson } from '../text/controls.ts';
import type { OnRunEvent } from '../ralph/view.ts';
import type { Terminal } from './terminal.ts';

/** One event a line, for programs; the last one comes with the whole view. With several runs each says whose it is. */
export const createJsonReporter =
  (terminal: Terminal, change?: string): OnRunEvent =>
  (event, view) => {
    const whole = event.type === 'run-ended' ? { ...event, view } : event;
    const line = change === undefined ? whole : { change, ...whole };
    terminal.print(`${safeJson(line)}\n`);
  };
