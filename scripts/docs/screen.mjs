// A program in a pseudo-terminal, and the screen that a user would see.
import { spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';

/**
 * @typedef {{ text: string, width: number, bold: boolean, dim: boolean, inverse: boolean, color: number | null }} Cell
 * @typedef {{ columns: number, rows: Cell[][] }} Screen
 */

/**
 * @param {{ command: string, args: string[], cwd: string, env: Record<string, string | undefined>, columns: number, rows: number }} program
 */
export const openScreen = ({ command, args, cwd, env, columns, rows }) => {
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
  const pty = spawn(command, args, { cwd, env: { ...env, TERM: 'xterm-256color' }, cols: columns, rows });
  /** @type {Set<() => void>} */
  const waiting = new Set();
  const look = () => {
    for (const check of waiting) check();
  };
  let hasEnded = false;
  pty.onData((data) => terminal.write(data, look));
  const exitCode = new Promise((resolve) =>
    pty.onExit(({ exitCode: code }) => {
      hasEnded = true;
      terminal.write('', () => {
        look();
        resolve(code);
      });
    }),
  );
  // What the program asks the terminal, such as for the position of the cursor.
  terminal.onData((data) => pty.write(data));

  /** Every line with text, what has scrolled off the top included. @returns {Screen} */
  const snapshot = () => {
    const buffer = terminal.buffer.active;
    const lines = Array.from({ length: buffer.length }, (_, row) => cellsOf(buffer, row, columns));
    while (lines.length > 0 && lines.at(-1)?.every(({ text }) => text.trim() === '')) lines.pop();
    return { columns, rows: lines };
  };
  /** The same as text. A line that the terminal wrapped is one line. */
  const text = () => {
    const buffer = terminal.buffer.active;
    /** @type {string[]} */
    const lines = [];
    for (let row = 0; row < buffer.length; row++) {
      const line = buffer.getLine(row);
      const shown = line?.translateToString(!buffer.getLine(row + 1)?.isWrapped) ?? '';
      if (line?.isWrapped) lines.push(`${lines.pop() ?? ''}${shown}`);
      else lines.push(shown);
    }
    return lines
      .map((line) => line.trimEnd())
      .join('\n')
      .trimEnd();
  };

  /**
   * Resolves when the text on the screen matches.
   * @param {RegExp} pattern
   * @returns {Promise<void>}
   */
  const shows = (pattern) =>
    new Promise((resolve, reject) => {
      const check = () => {
        if (!pattern.test(text())) {
          if (!hasEnded) return;
          waiting.delete(check);
          return reject(new Error(`The program has ended without ${pattern}. The screen shows:\n${text()}`));
        }
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });

  /** Resolves when the program sets this title of the window. @param {string} title @returns {Promise<void>} */
  const hasTitle = (title) =>
    new Promise((resolve) => terminal.onTitleChange((current) => (current === title ? resolve() : undefined)));

  return {
    shows,
    hasTitle,
    snapshot,
    text,
    exitCode,
    type: (/** @type {string} */ keys) => pty.write(keys),
    kill: () => pty.kill(),
  };
};

/**
 * @param {import('@xterm/headless').IBuffer} buffer
 * @param {number} row
 * @param {number} columns
 * @returns {Cell[]}
 */
const cellsOf = (buffer, row, columns) => {
  const line = buffer.getLine(row);
  return Array.from({ length: columns }, (_, column) => line?.getCell(column))
    .filter((cell) => cell !== undefined)
    .filter((cell) => cell.getWidth() > 0)
    .map((cell) => ({
      text: cell.getChars() || ' ',
      width: cell.getWidth(),
      bold: cell.isBold() !== 0,
      dim: cell.isDim() !== 0,
      inverse: cell.isInverse() !== 0,
      color: cell.isFgPalette() ? cell.getFgColor() : null,
    }));
};
