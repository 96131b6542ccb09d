import * as fc from 'fast-check';
import { format } from 'prettier';
import { describe, expect, test } from 'vitest';
import { wordingOf } from '../../../src/changes/wording.ts';

describe('wording', () => {
  test.each([
    ['a tick', '- [ ] it works', '- [x] it works', true],
    ['line endings', 'one  \r\ntwo\r\n', 'one\ntwo', true],
    ['another list marker, and blank lines', '* one\n* two\n', '- one\n\n- two', true],
    ['another emphasis marker', '__one__ and *two* in my_file', '**one** and _two_ in my_file', true],
    ['a table', '|a|b|\n|-----|-|', '|a|b|\n|---|-|', true],
    ['column widths of a table', '|a|b|\n|---|---|\n|1|2|', '| a   | b   |\n| --- | --- |\n| 1   | 2   |', true],
    ['a rule', 'a\n\n***\n\nb', 'a\n\n---\n\nb', true],
    ['another numbered list marker', '1) a\n2) b', '1. a\n2. b', true],
    ['a closed heading', '# A #', '# A', true],
    ['an underlined heading', 'A\n===\n\nB\n-----', '# A\n\n## B', true],
    ['wrapped prose', 'One two\nthree four.', 'One two three\nfour.', true],
    ['wrapped items', '- One two\n  three', '- One\n  two three', true],
    ['escapes', 'snake_case and 2 * 3', String.raw`snake\_case and 2 \* 3`, true],
    ['a cell', '|a|b|\n|---|---|\n|1|2|', '|a|b|\n|---|---|\n|1|3|', false],
    ['a number in code', '```sh\nexit 1\n```', '```sh\nexit 0\n```', false],
    ['a number in formatted code', '```js\nf(1)\n```', '```js\nf(10)\n```', false],
    ['struck through', 'It must work.', '~~It must work.~~', false],
    ['in a comment', 'It must work.', '<!-- It must work. -->', false],
    ['an operator in text', 'a || b', 'a b', false],
    ['a sign in text', 'written in C #', 'written in C', false],
    ['a word', '- it works', '- it runs', false],
    ['a number', 'at most -1', 'at most 1', false],
    ['a line', 'one\ntwo', 'one', false],
    ['a name', 'my_file', 'myfile', false],
  ])('%s', (_, before, after, same) => {
    expect(wordingOf(before) === wordingOf(after)).toBe(same);
  });
});

describe('wording is unchanged by a formatter', () => {
  const parts = [
    '# Title #',
    'Title\n=====',
    'Part with `code`\n-----',
    '|a|b|\n|---|:-:|\n|1|`x \\| y`|\n|long cell|**b**|',
    'a | b\n--- | ---\n1 | 2',
    '* one\n* two\n    * three\n    * [ ] four',
    '+ one\n\n+ two',
    '1) one\n2) two\n   more of it',
    '1. one\n1. two\n1. three',
    '- [X] done\n- [ ] open',
    '***',
    '* * *',
    'Words with snake_case, __strong__, *weak* and ***both***,\nwrapped in  the middle.  \nHard break.',
    'Escapes \\_ and \\* and 2 * 3 and a_b_c and <b>tag</b> & more.',
    '>quoted\nlazily\n> and more',
    '~~~sh\nexit   1\n  # no heading\n~~~',
    "```js\nconst a = {b:1,\n c: 'x'}\nf(a)\n```",
    '```json\n{"a":1,\n"b":[1,2]}\n```',
    '- item\n\n  ```sh\n  npm test\n  ```',
    '\tindented code',
    "[link](https://example.org 'title') and [ref]\n\n[ref]: https://example.org 'A title'",
    '#### Scenario: Right\n\n- **WHEN** it is asked\n- **THEN** it __answers__',
    '<!-- a comment -->',
    '![image](a.png)\\\nand a line',
    'Über 100 % – „quoted“ … 完成！',
  ];

  test.each(parts)('%j', async (part) => {
    expect(wordingOf(await format(part, { parser: 'markdown' }))).toBe(wordingOf(part));
  });

  test('for any combination of parts and any line wrapping', async () => {
    const document = fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 6 });
    const proseWrap = fc.constantFrom('preserve' as const, 'always' as const, 'never' as const);
    await fc.assert(
      fc.asyncProperty(document, proseWrap, async (each, wrap) => {
        const text = `${each.join('\n\n')}\n`;
        const after = await format(text, { parser: 'markdown', proseWrap: wrap, printWidth: 40 });
        expect(wordingOf(after)).toBe(wordingOf(text));
      }),
      { numRuns: 60 },
    );
  });
});
