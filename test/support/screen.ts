/**
 * A terminal as the user sees it, with everything that has scrolled out of its window. It wraps at its last column, again
 * after each resize, and its cursor cannot leave the window. It supports the few control sequences that Spool uses and
 * ignores colors.
 */
export const createScreen = (columns: number, rows: number) => {
  let width = columns;
  /** Each ends with a newline, however many rows it occupies. A cell is a column; the second one of a wide character is empty. */
  let lines: string[][] = [[]];
  /** The start of an incomplete control sequence. */
  let cutOff = '';
  let at = { line: 0, cell: 0 };
  let wraps = true;
  let inFrame = false;
  let nextWidth: number | null = null;
  /** The last column was written, and the next character will be on the next row. */
  let wrapsNext = false;
  /** The number of rows above the window. */
  let scrolled = 0;

  const rowsOf = (line: readonly string[]) => Math.max(1, Math.ceil(line.length / width));
  const rowInLine = () => Math.floor((wrapsNext ? at.cell - 1 : at.cell) / width);
  /** The number of rows above the line of the cursor. */
  let above = 0;
  const rowsOfAll = (some: readonly (readonly string[])[]) => some.reduce((sum, line) => sum + rowsOf(line), 0);
  const scroll = () => {
    scrolled = Math.max(scrolled, above + rowInLine() + 1 - rows);
  };
  const put = (char: string) => {
    const wide = isWide(char);
    if (!wraps && wrapsNext) at.cell = (rowInLine() + 1) * width - (wide ? 2 : 1);
    wrapsNext = false;
    if (wide && at.cell % width === width - 1) write([' ']);
    write(wide ? [char, ''] : [char]);
  };
  const write = (cells: readonly string[]) => {
    const line = lines[at.line]!;
    while (line.length < at.cell) line.push(' ');
    line.splice(at.cell, cells.length, ...cells);
    at.cell += cells.length;
    wrapsNext = at.cell % width === 0;
    scroll();
  };
  const toRowStart = () => {
    at.cell = rowInLine() * width;
    wrapsNext = false;
  };
  const up = () => {
    const column = at.cell - rowInLine() * width;
    if (above + rowInLine() <= scrolled) return;
    if (rowInLine() > 0) {
      at.cell -= width;
      return;
    }
    const rowsBefore = rowsOf(lines[at.line - 1]!);
    above -= rowsBefore;
    at = { line: at.line - 1, cell: (rowsBefore - 1) * width + column };
  };
  const newline = () => {
    above += rowsOf(lines[at.line]!);
    at = { line: at.line + 1, cell: 0 };
    wrapsNext = false;
    if (at.line === lines.length) lines.push([]);
    scroll();
  };
  const eraseBelow = () => {
    lines = lines.slice(0, at.line + 1);
    lines[at.line]!.splice(wrapsNext ? at.cell - 1 : at.cell);
  };
  /** In the last column it erases the character there. */
  const eraseRight = () => {
    const line = lines[at.line]!;
    const end = (rowInLine() + 1) * width;
    const start = wrapsNext ? at.cell - 1 : at.cell;
    if (line.length <= end) line.splice(start);
    else line.fill(' ', start, end);
  };
  const applySize = (to: number) => {
    width = to;
    wrapsNext = false;
    above = rowsOfAll(lines.slice(0, at.line));
    scrolled = Math.max(0, rowsOfAll(lines) - rows);
  };
  const frame = (begins: boolean) => {
    inFrame = begins;
    if (begins || nextWidth === null) return;
    applySize(nextWidth);
    nextWidth = null;
  };
  const control = (sequence: string) => {
    if (sequence.endsWith('A')) for (let n = Number.parseInt(sequence.slice(2), 10) || 1; n > 0; n--) up();
    if (/\[0?J$/.test(sequence)) eraseBelow();
    if (/\[0?K$/.test(sequence)) eraseRight();
    if (/\[\?2026[hl]$/.test(sequence)) frame(sequence.endsWith('h'));
    if (/\[\?7[hl]$/.test(sequence)) wraps = sequence.endsWith('h');
  };

  return {
    write(data: string) {
      const text = cutOff + data;
      cutOff = /\u001b(?:\[[0-9;?]*)?$/.exec(text)?.[0] ?? '';
      for (const [part] of text.slice(0, text.length - cutOff.length).matchAll(/\u001b\[[0-9;?]*[A-Za-z]|[\s\S]/gu)) {
        if (part.startsWith('\u001b')) control(part);
        else if (part === '\n') newline();
        else if (part === '\r') toRowStart();
        else if (part !== '\u0007') put(part);
      }
    },
    /** Output between the sequences of synchronized output is one step: the size changes after it. */
    resize(to: number) {
      if (inFrame) nextWidth = to;
      else applySize(to);
    },
    /** The lines on the screen and above it, each with the number of rows it occupies. */
    lines: () => lines.map((cells) => ({ text: cells.join(''), rows: rowsOf(cells) })),
  };
};

const isWide = (char: string) =>
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}]/u.test(char);
