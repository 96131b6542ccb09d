import { widthOf } from '../text/format.ts';
import type { Canvas } from './fit-table.ts';

const labelWidth = 12;

/** `  Tasks       7/7 done`: a fact below a title. Long texts wrap below their beginning. */
export const fact = (label: string, text: string, { style, columns }: Canvas): string[] => {
  const head = style('dim', label.padEnd(labelWidth - 1));
  const [first = '', ...rest] = wrap(text, columns - labelWidth - 2);
  return [`  ${head} ${first}`, ...rest.map((line) => `  ${' '.repeat(labelWidth)}${line}`)];
};

/** Breaks a line at blanks. A word that is too long stays whole. */
export const wrap = (text: string, width: number): string[] => {
  if (widthOf(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && widthOf(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
};
