/**
 * Returns source code without comments, roughly: what looks like the start of a comment inside a string stays unless
 * there is a blank before it. Takes one pass.
 */
export const withoutComments = (text: string, style: '//' | '#'): string =>
  text
    .split('\n')
    .reduce<Reading>((reading, line) => readLine(reading, line, style), { lines: [], isInBlock: false })
    .lines.join('\n');

interface Reading {
  readonly lines: string[];
  /** In a comment that began on an earlier line. */
  readonly isInBlock: boolean;
}

const readLine = ({ lines, isInBlock }: Reading, line: string, style: '//' | '#'): Reading => {
  const { code, opens } = style === '#' ? { code: beforeHash(line), opens: false } : beforeSlashes(line, isInBlock);
  lines.push(code);
  return { lines, isInBlock: opens };
};

/** `#[…]` and `#!` are not comments, nor is `#` inside of a word. */
const beforeHash = (line: string): string => line.replace(/(?<=^|\s)#(?![[!{]).*/, '');

const beforeSlashes = (line: string, isInBlock: boolean): { code: string; opens: boolean } => {
  let code = '';
  let rest = line;
  let isInside = isInBlock;
  for (;;) {
    if (isInside) {
      const end = rest.indexOf('*/');
      if (end === -1) return { code, opens: true };
      rest = rest.slice(end + 2);
      isInside = false;
    }
    const start = /(?<=^|[\s;{}(),])\/[/*]/.exec(rest);
    if (start === null) return { code: code + rest, opens: false };
    code += rest.slice(0, start.index);
    if (start[0] === '//') return { code, opens: false };
    rest = rest.slice(start.index + 2);
    isInside = true;
  }
};
