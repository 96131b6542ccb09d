import type { Redactor } from '../redact.ts';
import type { Report } from './report.ts';
import type { Terminal } from './terminal.ts';

/** One event a line, for programs; the last one comes with the whole view. */
export const createJsonReport =
  (terminal: Terminal, redactor: Redactor): Report =>
  (event, view) => {
    const line = event.type === 'run-ended' ? { ...event, view } : event;
    terminal.out(`${JSON.stringify(redactor.data(line))}\n`);
  };
