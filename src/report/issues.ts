import { visible } from '../text/escape-hidden.ts';
import { pluralise } from '../text/format.ts';
import { oneLine } from './shorten.ts';
import type { Canvas } from './canvas.ts';
import type { Style } from './terminal.ts';
import { wrap } from './wrap.ts';

/** A problem in a file of a change. Fields have the names of `Issue` in changes/. */
export interface ShownIssue {
  readonly level: 'error' | 'warning' | 'info';
  readonly file: string;
  readonly line: number | null;
  readonly message: string;
}

const styles: Readonly<Record<ShownIssue['level'], Style>> = { error: 'red', warning: 'yellow', info: 'dim' };

/** Longer messages are cut: they quote names from files. */
const maxMessage = 1000;

/** Returns the issues below the names of their files, with their lines. A long message continues below its beginning. */
export const renderIssues = (
  issues: readonly ShownIssue[],
  { style, columns }: Pick<Canvas, 'style' | 'columns'>,
): string[] => {
  const files = [...new Set(issues.map(({ file }) => file))];
  return files.flatMap((file) => {
    const own = issues.filter((issue) => issue.file === file);
    const width = own.reduce((widest, { line }) => Math.max(widest, lineText(line).length), 0);
    return [
      style('bold', visible(file)),
      ...own.flatMap(({ level, line, message }) => {
        const indent = ' '.repeat(width + levelWidth + 6);
        const [first = '', ...rest] = wrap(indent + oneLine(message, maxMessage), columns, indent);
        const start = `  ${lineText(line).padStart(width)}  ${style(styles[level], level.padEnd(levelWidth))}  `;
        return [start + first.slice(indent.length), ...rest];
      }),
    ];
  });
};

const levelWidth = 'warning'.length;

const lineText = (line: number | null): string => (line === null ? '-' : String(line));

/** `specs/auth/spec.md:12: error: …` */
export const renderIssue = ({ file, line, level, message }: ShownIssue): string =>
  `${visible(file)}${line === null ? '' : `:${line}`}: ${level}: ${oneLine(message, maxMessage)}`;

/** `1 error, 2 warnings` */
export const countIssues = (issues: readonly ShownIssue[]): string => {
  const count = (level: ShownIssue['level']) => issues.filter((issue) => issue.level === level).length;
  const parts = [
    [count('error'), 'error', 'errors'],
    [count('warning'), 'warning', 'warnings'],
    [count('info'), 'note', 'notes'],
  ] as const;
  const shown = parts.filter(([number]) => number > 0);
  return shown.map(([number, one, many]) => pluralise(number, one, many)).join(', ') || 'no problems';
};
