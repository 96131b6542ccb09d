import { truncate } from './shorten.ts';
import type { Terminal } from './terminal.ts';

/**
 * A line below everything that is written to an interactive terminal, including the bottom lines of others. Returns the
 * terminal that they have to write to. Each of their texts must end with a newline.
 */
export const createBottomLine = (
  terminal: Terminal,
  line: () => string,
): { readonly terminal: Terminal; readonly refresh: () => void } => {
  let others: readonly string[] = [];
  let isDrawn = false;
  const draw = (stream: 'stdout' | 'stderr', above: string): void => {
    const last = terminal.symbols.replace(truncate(line(), terminal.columns - 2, terminal.symbols.ellipsis));
    terminal.draw(stream, { above, bottom: [...others, ` ${last}`], redraws: isDrawn });
    isDrawn = true;
  };
  return {
    refresh: () => draw('stderr', ''),
    terminal: {
      ...terminal,
      print: (text) => draw('stdout', text),
      log: (text) => draw('stderr', text),
      draw: (stream, frame) => {
        others = frame.bottom;
        draw(stream, frame.above);
      },
      get columns() {
        return terminal.columns;
      },
      get rows() {
        return terminal.rows;
      },
    },
  };
};
