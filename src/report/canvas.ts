import { isTerminal } from './outputs.ts';
import type { Terminal } from './terminal.ts';

/** What a renderer needs of a terminal. `columns` is Infinity if the output is not a terminal. */
export type Canvas = Pick<Terminal, 'style' | 'symbols' | 'columns'>;

/** Where a result is rendered: as wide as the terminal, or on lines of any length and without color in a file or a pipe. */
export const canvasOf = (terminal: Canvas): Canvas =>
  // Asking the terminal creates its streams, which takes time.
  isTerminal(stdout) && isTerminal(stderr)
    ? { style: terminal.style, columns: terminal.columns, symbols: terminal.symbols }
    : { style: (_, text) => text, columns: Infinity, symbols: terminal.symbols };

const stdout = 1;
const stderr = 2;
