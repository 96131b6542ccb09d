import { expect, test } from 'vitest';
import { blocksOf } from '../../../src/web/page/parts/markdown-blocks.ts';

const text = (...lines: string[]) => ({ type: 'text', lines });
const item = (mark: string, words: string, indent = 0) => ({ type: 'item', indent, mark, text: words });

test.each([
  ['One\ntwo\n\nthree', [text('One', 'two'), text('three')]],
  ['# Title', [{ type: 'heading', text: 'Title' }]],
  ['- one\n  - two\n3. three', [item('•', 'one'), item('•', 'two', 2), item('3.', 'three')]],
  ['- [ ] open\n- [x] done\n- [y] other', [item('☐', 'open'), item('☑', 'done'), item('•', '[y] other')]],
  ['```ts\n# a\n- b\n```\nc', [{ type: 'code', language: 'ts', lines: ['# a', '- b'] }, text('c')]],
  ['a ```b``` c', [text('a ```b``` c')]],
  ['```\nopen', [{ type: 'code', language: '', lines: ['open'] }]],
  [
    'Before\n| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 |\nafter',
    [
      text('Before'),
      {
        type: 'table',
        rows: [['a', 'b'], ['1', '2'], ['3']],
      },
      text('after'),
    ],
  ],
  ['| a | b |\n| 1 | 2 |', [text('| a | b |', '| 1 | 2 |')]],
  ['| a |\n|---|\n\n', [{ type: 'table', rows: [['a']] }]],
  ['|---|', [text('|---|')]],
])('%j', (markdown, expected) => {
  expect(blocksOf(markdown)).toEqual(expected);
});
