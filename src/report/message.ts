import type { Terminal } from './terminal.ts';
import { wrap } from './wrap.ts';

type Wide = Pick<Terminal, 'isInteractive' | 'columns'>;

/**
 * Wraps a message for people at its words, below its beginning. Commands stay in one piece, so that they can be copied.
 * Lines in a file, a pipe or the log of a CI service are not wrapped.
 */
export const messageLines = (text: string, { isInteractive, columns }: Wide): string[] => {
  const lines = text.split('\n');
  return isInteractive ? lines.flatMap((line) => wrapped(line, columns)) : lines;
};

/** Writes a message to stderr. */
export const say = (terminal: Wide & Pick<Terminal, 'log'>, text: string): void =>
  terminal.log(`${messageLines(text, terminal).join('\n')}\n`);

/** Writes a message that is the result of a command to stdout. */
export const answer = (terminal: Wide & Pick<Terminal, 'print'>, text: string): void =>
  terminal.print(`${messageLines(text, terminal).join('\n')}\n`);

const wrapped = (line: string, columns: number): string[] => {
  const indent = /^ */.exec(line)![0];
  const joined = line.replaceAll(unbroken, (part) => part.replaceAll(' ', noBreak));
  return wrap(joined, columns, `${indent}  `).map((row) => row.replaceAll(noBreak, ' '));
};

/** A command after a colon at the end of a line, or in quotes, and `2 files +9 -1`. */
const unbroken = /(?<=: )(?:spool|git) .*$|"(?:spool|git) [^"]*"|\b\d+ files? \+\d+ -\d+/g;
const noBreak = '\u00a0';
