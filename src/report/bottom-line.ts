import { truncate } from './shorten.ts';
import type { Terminal } from './terminal.ts';

interface BottomLine {
  /** The terminal that others have to write to. */
  readonly terminal: Terminal;
  readonly refresh: () => void;
  /** Erases the screen, and forgets what was written. */
  readonly clear: () => void;
  /** Writes the last lines again. A full screen has no lines above it that could come back into a window that grows. */
  readonly redraw: () => void;
}

/** More than any window has. */
const maxKept = 500;

/**
 * A line below everything that is written to a full screen, including the bottom lines of others. Each of their texts must
 * end with a newline.
 */
export const createBottomLine = (terminal: Terminal, line: () => string): BottomLine => {
  let others: readonly string[] = [];
  let isDrawn = false;
  let kept: string[] = [];
  const keep = (text: string): void => {
    if (text === '') return;
    kept.push(...text.replace(/\n$/, '').split('\n').slice(-maxKept));
    if (kept.length > 2 * maxKept) kept = kept.slice(-maxKept);
  };
  const erase = (): void => {
    terminal.fullScreen([]);
    isDrawn = false;
  };
  const draw = (stream: 'stdout' | 'stderr', above: string): void => {
    const last = terminal.symbols.replace(truncate(line(), terminal.columns - 2, terminal.symbols.ellipsis));
    terminal.draw(stream, { above, bottom: [...others, ` ${last}`], redraws: isDrawn });
    isDrawn = true;
  };
  const write = (stream: 'stdout' | 'stderr', text: string): void => {
    keep(text);
    draw(stream, text);
  };
  return {
    refresh: () => draw('stderr', ''),
    clear: () => {
      [kept, others] = [[], []];
      erase();
    },
    redraw: () => {
      erase();
      const last = kept.slice(-terminal.rows);
      draw('stderr', last.map((text) => `${text}\n`).join(''));
    },
    terminal: {
      ...terminal,
      print: (text) => write('stdout', text),
      log: (text) => write('stderr', text),
      draw: (stream, frame) => {
        others = frame.bottom;
        write(stream, frame.above);
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
