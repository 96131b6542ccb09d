import { expect, test } from 'vitest';
import { visibleTextOf } from '../../../src/changes/visible-text.ts';

test.each([
  ['a comment in several lines', 'a <!-- HIDDEN\nHIDDEN --> b', 'a \n b'],
  ['a comment in a quote', '> a\n> <!-- HIDDEN\n> HIDDEN -->', '> a\n> \n'],
  ['a comment in a list', '- a <!-- HIDDEN\n  HIDDEN -->\n- b', '- a \n\n- b'],
  ['a comment around a code block', 'a <!--\n```\nHIDDEN\n```\n-->', 'a \n'],
  ['a comment without an end', 'a\n<!-- HIDDEN\n\nHIDDEN', 'a\n'],
  ['a comment without an end in a line', 'a <!-- b\n\nc', 'a <!-- b\n\nc'],
  ['an empty comment', '<!--> a <!---> b', ' a  b'],
  [
    'comments in code',
    '`<!-- a -->`\n\n```\n<!-- b -->\n<?php c ?>\n```',
    '`<!-- a -->`\n\n```\n<!-- b -->\n<?php c ?>\n```',
  ],
  [
    'a comment after HTML that looks like code',
    '<div>\n```\n</div>\n\n<!-- HIDDEN -->\n\n```',
    '<div>\n```\n</div>\n\n\n\n```',
  ],
  ['an instruction', 'a <?php HIDDEN\nHIDDEN ?> b', 'a \n b'],
  ['a declaration', '<!DOCTYPE HIDDEN>a', 'a'],
  ['CDATA', 'a <![CDATA[ HIDDEN > HIDDEN ]]> b', 'a  b'],
  ['a definition', 'a\n\n[//]: # (HIDDEN)\n[HIDDEN]: <> "HIDDEN"\nb', 'a\n\nb'],
  ['a definition in several lines', '[//]: # (HIDDEN\nHIDDEN)\na\n[b]:\nHIDDEN\n[c]: #\n"HIDDEN"\nd', 'a\nd'],
  ['a definition that is used', '[a]\n\n[a]: https://a.example "HIDDEN"', '[a]\n\n[a]: https://a.example'],
  ['footnotes', 'a[^1]\n\n[^1]: b c\n[^2]: HIDDEN', 'a[^1]\n\n[^1]: b c'],
  ['a line of a log', '[info]: 3 tests passed', '[info]: 3 tests passed'],
  ['a comparison', 'a <b and b> c, x < 1', 'a <b and b> c, x < 1'],
])('%s', (_, text, visible) => {
  expect(visibleTextOf(text)).toBe(visible);
});
