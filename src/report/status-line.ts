import { countdown } from '../text/duration.ts';
import { duration } from '../text/format.ts';
import { createFooter } from './footer.ts';
import { joinFitting, truncate } from './shorten.ts';
import type { Terminal } from './terminal.ts';

/** What the line counts: the time since something began, or until it ends. In milliseconds since 1970. */
export type Clock = { readonly sinceMs: number } | { readonly untilMs: number };

/**
 * A last line that counts seconds. `figures` returns what it shows behind them, the most important first. Shows nothing
 * unless the terminal is interactive.
 */
export const createStatusLine = (terminal: Terminal, figures: () => readonly string[]) => {
  let label = '';
  let clock: () => number = () => 0;
  const footer = createFooter(terminal, () => {
    const seconds = Math.floor(clock() / 1000);
    const first = `${label} ${seconds === 0 ? '0s' : duration(seconds * 1000)}`;
    const { separator, ellipsis } = terminal.symbols;
    // The cursor stands on the blank.
    const columns = terminal.columns - 2;
    const text = truncate(joinFitting([first, ...figures()], { separator, columns }), columns, ellipsis);
    return [terminal.style('dim', ` ${text}`)];
  });
  return {
    print: footer.print,
    log: footer.log,
    start(text: string, time: Clock): void {
      label = text;
      clock = 'untilMs' in time ? () => countdown(time.untilMs, Date.now()) : stopwatch(time.sinceMs);
      footer.start();
    },
    stop: footer.stop,
  };
};

/** Does not jump when the clock is set. */
const stopwatch = (sinceMs: number): (() => number) => {
  const startedAt = performance.now() - Math.max(0, Date.now() - sinceMs);
  return () => performance.now() - startedAt;
};
