import { assert, constantFrom, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { markdownCode, markdownText } from '../../../src/text/markdown.ts';

test.each([
  ['Signs in', 'Signs in'],
  ['a | b', 'a &#124; b'],
  ['two\nlines\r\n\u2028and more ', 'two lines and more'],
  ['@octocat and a@b.example', '@&#8203;octocat and a@&#8203;b.example'],
  ['closes #12, acme/shop#3, GH-4', 'closes #&#8203;12, acme/shop#&#8203;3, GH-&#8203;4'],
  ['<img src=x onerror=alert(1)>', '&#60;img src=x onerror=alert(1)&#62;'],
  ['</details><!-- x', '&#60;/details&#62;&#60;!-- x'],
  ['[a](https://evil.example)', String.raw`\[a\](https&#58;//evil.example)`],
  ['www.evil.example', '&#119;ww.evil.example'],
  ['`code` *b* _i_ ~s~ $x$', String.raw`\`code\` \*b\* \_i\_ \~s\~ &#36;x&#36;`],
  ['fixes #12; x', 'fixes #&#8203;12; x'],
  ['- item', '-&#8203; item'],
  ['1. item', '1&#8203;. item'],
  ['&lt; &#64;octocat', '&#38;lt; &#38;#&#8203;64;octocat'],
  [String.raw`\| \@x`, String.raw`\\&#124; \\@&#8203;x`],
])('text %s', (text, expected) => {
  expect(markdownText(text)).toBe(expected);
});

test.each([
  ['npm test', '<code>npm test</code>'],
  ['npm i @acme/x#1', '<code>npm i @acme/x#1</code>'],
  ['a `b` | c', String.raw`<code>a \`b\` &#124; c</code>`],
  ['x</code>@octocat', '<code>x&#60;/code&#62;@octocat</code>'],
  ['curl http://x', '<code>curl http&#58;//x</code>'],
  [' ', ''],
])('code %s', (text, expected) => {
  expect(markdownCode(text)).toBe(expected);
});

test('no text leaves its cell or its line, opens a tag or mentions anybody', () => {
  const hostile = string({ unit: constantFrom(...'@#|<>`*_[]()~$\\&;!-+:/w. \n\tgh1a') });
  assert(
    property(hostile, (text) => {
      for (const result of [markdownText(text), markdownCode(text).replaceAll(/^<code>|<\/code>$/g, '')])
        expect(result).not.toMatch(/[|<>\n]|:\/\/|(?<!\\)(?:\\\\)*[`*_[\]~]/);
      expect(markdownText(text)).not.toMatch(/@(?!&#8203;)|(?<!&)#(?!&#8203;)/);
    }),
  );
});
