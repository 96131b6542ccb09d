import { duration } from '../text/format.ts';
import { truncate } from './shorten.ts';
import type { Terminal } from './terminal.ts';

/** Draws a last line that counts seconds up, or down to a time. Does nothing unless the terminal is interactive. */
export const createStatusLine = (terminal: Terminal) => {
  let timer: NodeJS.Timeout | null = null;
  let label = '';
  let since = 0;
  let until: number | null = null;
  let drawn = false;

  const erase = () => {
    if (drawn) terminal.control({ erase: 'line' });
    drawn = false;
  };
  const draw = () => {
    erase();
    const ms = until === null ? performance.now() - since : Math.max(0, until - Date.now());
    const seconds = Math.floor(ms / 1000);
    const text = `${label} ${seconds === 0 ? '0s' : duration(seconds * 1000)}`;
    terminal.log(terminal.style('dim', truncate(text, terminal.columns - 1)));
    drawn = true;
  };

  return {
    start(text: string, untilMs: number | null = null): void {
      if (!terminal.isInteractive) return;
      label = text;
      until = untilMs;
      since = performance.now();
      timer ??= setInterval(draw, 1000).unref();
    },
    /** Writes something above the line. */
    above(write: () => void): void {
      erase();
      write();
      if (timer) draw();
    },
    stop(): void {
      if (timer) clearInterval(timer);
      timer = null;
      erase();
    },
  };
};
