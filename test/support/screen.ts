/**
 * A screen as the user sees it. It wraps at its last column, again after each resize. It supports the few cursor
 * movements that Spool uses and ignores colours.
 */
export const createScreen = (columns: number) => {
  let width = columns;
  /** Each ends with a newline, however many rows it occupies. */
  let lines: string[] = [''];
  /** The start of an incomplete control sequence. */
  let cutOff = '';
  let at = { line: 0, offset: 0 };

  const rowsOf = (line: string) => Math.max(1, Math.ceil(widthOf(line) / width));
  const put = (char: string) => {
    const line = lines[at.line]!;
    lines[at.line] = line.slice(0, at.offset) + char + line.slice(at.offset + char.length);
    at.offset += char.length;
  };
  const up = () => {
    if (at.offset >= width) return (at.offset -= width);
    if (at.line === 0) return 0;
    at = { line: at.line - 1, offset: 0 };
    return (at.offset = (rowsOf(lines[at.line]!) - 1) * width);
  };
  const newline = () => {
    at = { line: at.line + 1, offset: 0 };
    if (at.line === lines.length) lines.push('');
  };
  const eraseBelow = () => {
    lines = lines.slice(0, at.line + 1);
    lines[at.line] = lines[at.line]!.slice(0, at.offset);
  };
  const control = (sequence: string) => {
    if (sequence.endsWith('A')) for (let n = Number.parseInt(sequence.slice(2), 10) || 1; n > 0; n--) up();
    if (/\[0?J$/.test(sequence)) eraseBelow();
    if (sequence.endsWith('[2K')) lines[at.line] = '';
  };

  return {
    write(data: string) {
      const text = cutOff + data;
      cutOff = /\u001b(?:\[[0-9;?]*)?$/.exec(text)?.[0] ?? '';
      for (const [part] of text.slice(0, text.length - cutOff.length).matchAll(/\u001b\[[0-9;?]*[A-Za-z]|[\s\S]/gu)) {
        if (part.startsWith('\u001b')) control(part);
        else if (part === '\n') newline();
        else if (part === '\r') at.offset = 0;
        else put(part);
      }
    },
    resize(to: number) {
      width = to;
    },
    /** The lines on the screen, each with the number of rows it occupies. */
    lines: () => lines.map((text) => ({ text, rows: rowsOf(text) })),
  };
};

const widthOf = (text: string) => [...text].reduce((sum, char) => sum + (char >= '\u1100' ? 2 : 1), 0);
