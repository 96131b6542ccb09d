import type { Canvas } from './canvas.ts';
import { wrap } from './wrap.ts';

const labelWidth = 12;

/** `  Tasks       7/7 done`: a fact below a title. Long texts wrap below their beginning. */
export const fact = (label: string, text: string, { style, columns }: Canvas): string[] => {
  const head = style('dim', label.padEnd(labelWidth - 1));
  const [first = '', ...rest] = wrap(text, columns - labelWidth - 2);
  return [`  ${head} ${first}`, ...rest.map((line) => `  ${' '.repeat(labelWidth)}${line}`)];
};
