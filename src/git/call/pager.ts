import { controlPattern } from '../../text/controls.ts';
import { commandLine } from '../../text/shell-words.ts';

/**
 * Returns a pager that removes control codes except colors: names and contents of files are not trusted. `less` shows
 * such characters as text, but not every pager does. An empty `pager` writes to the terminal directly.
 */
export const safePager = (pager: string): string =>
  [commandLine(process.execPath, '--eval', filter), ...(['', 'cat'].includes(pager.trim()) ? [] : [pager])].join(' | ');

/** The attributes that git uses: colors, bold, dim, underline and reverse. Others could conceal a line of a file. */
const code = String.raw`(?:[01247]|2[247]|[349][0-7]|[34]9|10[0-7]|[34]8;5;\d{1,3}|[34]8;2(?:;\d{1,3}){3})`;

/**
 * A pager that exits early, as `less` does, is not an error. A partial escape sequence is buffered until it is
 * complete.
 */
const filter = `
  const pattern = /\\x1b\\[([\\d;:]{0,32})m|${controlPattern}/g;
  const colors = /^(?:${code}(?:;${code})*)?$/;
  let rest = '';
  const clean = (text) => text.replace(pattern, (found, codes) => codes !== undefined && colors.test(codes) ? found : '');
  process.stdout.on('error', () => process.exit(0));
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (text) => {
    const all = rest + text;
    rest = /\\x1b(?:\\[[\\d;:]{0,32})?$/.exec(all)?.[0] ?? '';
    process.stdout.write(clean(all.slice(0, all.length - rest.length)));
  });
  process.stdin.on('end', () => process.stdout.write(clean(rest)));
`;
