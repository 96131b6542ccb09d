import { eventually } from './eventually.ts';
import { fullScreenOf } from './full-screen.ts';
import type { TestProject } from './project.ts';
import { openTerminal, type TerminalOptions } from './terminal.ts';

const textOf = (lines: readonly { readonly text: string }[]): string[] =>
  lines.map(({ text }) => text.trimEnd()).filter((text) => text !== '');

/** Runs `spool watch` in a terminal. */
export const openWatch = (project: TestProject, options: TerminalOptions) => {
  const terminal = openTerminal(project, ['watch'], options);
  const screen = () => fullScreenOf(terminal.raw());
  return {
    ...terminal,
    screen,
    /** Waits for a line of the live view. */
    shown: (pattern: RegExp) =>
      eventually(() => terminal.lines().some(({ text }) => pattern.test(text)), `${pattern} in the live view`).catch(
        (error: Error) => {
          throw new Error(`${error.message}; it shows:\n${textOf(terminal.lines()).join('\n')}`);
        },
      ),
    /** Waits for the last line of the live view. */
    bottom: (pattern: RegExp) =>
      eventually(() => pattern.test(textOf(terminal.lines()).at(-1) ?? ''), `${pattern} at the bottom`).catch(
        (error: Error) => {
          throw new Error(`${error.message}; it shows:\n${textOf(terminal.lines()).join('\n')}`);
        },
      ),
    row: (id: string) => screen().find((line) => line.includes(id.slice(0, 6))) ?? '',
    has: (pattern: RegExp) =>
      eventually(() => screen().some((line) => pattern.test(line)), `${pattern} on the screen`).catch(
        (error: Error) => {
          throw new Error(`${error.message}; it shows:\n${screen().join('\n')}`);
        },
      ),
  };
};
