import { whileSuspended } from './suspend.ts';
import type { Terminal } from './terminal.ts';

const oneSecond = 1000;

/**
 * Lines at the bottom of an interactive terminal, redrawn every second, when the window is resized, and below everything
 * that is written through it. They are gone while the process is suspended. On any other terminal it only passes on what
 * is written.
 *
 * `render` returns the current lines. Each must be narrower than the terminal, and all of them must fit on it.
 */
export const createFooter = (terminal: Terminal, render: () => readonly string[]) => {
  let timer: NodeJS.Timeout | null = null;
  let stopListening = () => {};
  let isDrawn = false;

  const draw = (stream: 'stdout' | 'stderr', above: string) => {
    const bottom = timer === null ? [] : render();
    if (bottom.length > 0 || isDrawn) terminal.draw(stream, { above, bottom, redraws: isDrawn });
    else if (above !== '') terminal[stream === 'stdout' ? 'print' : 'log'](above);
    isDrawn = bottom.length > 0;
  };
  const refresh = () => draw('stderr', '');
  const hide = () => {
    if (isDrawn) terminal.draw('stderr', { above: '', bottom: [], redraws: true });
    isDrawn = false;
  };
  const show = () => {
    isDrawn = false;
    refresh();
  };

  return {
    /** Writes to stdout. The text must end with a newline if the terminal is interactive. */
    print: (text: string): void => (timer === null ? terminal.print(text) : draw('stdout', text)),
    /** Writes to stderr. The text must end with a newline. */
    log: (text: string): void => (timer === null ? terminal.log(text) : draw('stderr', text)),
    refresh,
    start(): void {
      if (timer !== null || !terminal.isInteractive) return;
      timer = setInterval(refresh, oneSecond).unref();
      const listeners = [terminal.onResize(refresh), whileSuspended({ hide, show })];
      stopListening = () => listeners.forEach((stop) => stop());
      refresh();
    },
    stop(): void {
      if (timer === null) return;
      clearInterval(timer);
      timer = null;
      stopListening();
      refresh();
    },
  };
};
