const begin = '<!-- spool: the text between these two marks is replaced by "spool publish" -->';
const end = '<!-- spool: end -->';

/** The limit of GitHub. */
const maxBody = 65_536;

/**
 * The body of a pull request. What people have written around the marks stays, and Spool's part gets the space that is
 * left; without marks, it comes last.
 *
 * @param render Returns a text of at most this length.
 */
export const markedBody = (render: (maxLength: number) => string, before: string | null): string => {
  const [above, below] = around((before ?? '').replaceAll('\r\n', '\n'));
  const marks = `${begin}\n\n\n\n${end}\n`;
  const text = render(maxBody - marks.length - above.length - below.length).trim();
  return `${above}${begin}\n\n${text}\n\n${end}\n${below}`;
};

/** What is above and below Spool's part. */
const around = (before: string): readonly [string, string] => {
  const [first, last] = [before.indexOf(begin), before.lastIndexOf(end)];
  if (first === -1 || last < first) return [before.trim() === '' ? '' : `${before.trimEnd()}\n\n`, ''];
  return [before.slice(0, first), before.slice(last + end.length).replace(/^\n/, '')];
};
