import { fullRows } from './shorten.ts';
import type { Terminal } from './terminal.ts';

/** Where lines are written. Each text ends with a newline. */
export interface LineSink {
  print(text: string): void;
  log(text: string): void;
}

/** Prints text that arrives in pieces, so that its last line may not have ended yet. */
export const createOpenLine = (terminal: Terminal, sink: Pick<LineSink, 'print'>) => {
  let isOpen = false;
  /** The end of an open line on an interactive terminal. It fills no row, and is written with what follows. */
  let held = '';

  /** On an interactive terminal each row of an open line ends with a newline, as it is followed by the status line. */
  const printRows = (text: string): void => {
    const whole = `${held}${text}`;
    isOpen = !whole.endsWith('\n');
    if (!isOpen) {
      held = '';
      return sink.print(whole);
    }
    const end = whole.lastIndexOf('\n') + 1;
    const { rows, rest } = fullRows(whole.slice(end), terminal.columns);
    held = rest;
    const lines = whole.slice(0, end) + rows.map((row) => `${row}\n`).join('');
    if (lines !== '') sink.print(lines);
  };

  return {
    /** A very long line arrives in pieces. */
    print(text: string): void {
      if (terminal.isInteractive) return printRows(text);
      terminal.print(text);
      isOpen = !text.endsWith('\n');
    },
    end(): void {
      if (!isOpen) return;
      isOpen = false;
      sink.print(`${held}\n`);
      held = '';
    },
  };
};
