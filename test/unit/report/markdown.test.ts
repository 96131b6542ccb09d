import { array, assert, constantFrom, integer, property } from 'fast-check';
import { expect, test } from 'vitest';
import { createMarkdown } from '../../../src/report/markdown.ts';
import { fullRows } from '../../../src/report/shorten.ts';
import { type Span, wrapSpans } from '../../../src/report/wrap.ts';
import { widthOf } from '../../../src/text/format.ts';

const render = (message: string) => message.split('\n').map(createMarkdown({ bullet: '•' }));
const marked = (spans: readonly Span[]) =>
  spans.map(({ text, style }) => (style === null ? text : `<${style}>${text}</>`)).join('');

test.each([
  ['Some **bold** words', 'Some <bold>bold</> words'],
  ['**All bold**', '<bold>All bold</>'],
  ['**Bold with `code`.**', '<bold>Bold with </><cyan>code</><bold>.</>'],
  ['Use `npm test` and `**/*.ts`', 'Use <cyan>npm test</> and <cyan>**/*.ts</>'],
  ['# Title', '<bold>Title</>'],
  ['### Use `x`', '<bold>Use </><cyan>x</>'],
  ['- an item', '• an item'],
  ['  * **nested**', '  • <bold>nested</>'],
  ['12. twelfth', '12. twelfth'],
  // Not Markdown.
  ['2 ** 3 ** 4', '2 ** 3 ** 4'],
  ['src/**/a.ts and **/b.ts', 'src/**/a.ts and **/b.ts'],
  ['a**b**c', 'a**b**c'],
  ['an open **end', 'an open **end'],
  ['an open `end', 'an open `end'],
  ['``two``', '``two``'],
  ['#hashtag', '#hashtag'],
  ['-5 degrees', '-5 degrees'],
  ['****', '****'],
  ['<promise>COMPLETE</promise>', '<promise>COMPLETE</promise>'],
  ['', ''],
])('%s', (line, expected) => {
  expect(marked(render(line)[0]!.spans)).toBe(expected);
});

test('code blocks are shown as they are, until a fence of the same kind', () => {
  const lines = ['```ts', 'const **a** = `b`;', '# no title', '~~~', '```', '**bold**'];
  expect(render(lines.join('\n')).map(({ spans }) => marked(spans))).toEqual([
    ...lines.slice(0, 5).map((line) => `<dim>${line}</>`),
    '<bold>bold</>',
  ]);
});

const anyLine = array(
  constantFrom('a', 'word', ' ', '  ', '*', '**', '`', '```', '#', '- ', '\t', '変更', '😀', '/', '.'),
  {
    maxLength: 40,
  },
).map((parts) => parts.join(''));
/** Markdown marks and blanks may go, nothing else. */
const essence = (text: string) => text.replaceAll(/[\s*`#•-]/g, '');

test('no text is lost or reordered, however it is wrapped, and no row is wider than the terminal but for long words', () => {
  assert(
    property(array(anyLine, { maxLength: 5 }), integer({ min: 4, max: 60 }), (lines, columns) => {
      const rows = render(lines.join('\n')).flatMap(({ spans, indent }) =>
        indent === null ? [] : wrapSpans(spans, columns, indent),
      );
      const prose = render(lines.join('\n')).flatMap(({ indent }, index) => (indent === null ? [] : [lines[index]!]));
      const texts = rows.map((row) => row.map(({ text }) => text).join(''));
      expect(essence(texts.join(''))).toBe(essence(prose.join('')));
      for (const text of texts)
        if (text.trim().includes(' ')) expect(widthOf(text.trimEnd())).toBeLessThanOrEqual(columns);
    }),
  );
});

test('the rows of an open line contain all of it, and each but the rest is full', () => {
  const char = constantFrom('a', 'b', '更', '😀', '𠀀');
  assert(
    property(array(char, { maxLength: 300 }), integer({ min: 2, max: 50 }), (chars, columns) => {
      const text = chars.join('');
      const { rows, rest } = fullRows(text, columns);
      expect(rows.join('') + rest).toBe(text);
      for (const row of rows) expect(columns - widthOf(row)).toBeLessThanOrEqual(1);
      for (const row of [...rows, rest]) expect(row).not.toMatch(/^[\udc00-\udfff]/);
    }),
  );
});
