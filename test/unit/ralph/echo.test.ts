import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEchoFilter } from '../../../src/ralph/echo.ts';
import { chunkSizes, cut } from '../chunks.ts';

/** What is left of the chunks when the echo is taken out. */
const pass = (prompt: string, chunks: readonly string[]): string => {
  const filter = createEchoFilter(prompt);
  return chunks.map((chunk) => filter.pass(chunk)).join('') + filter.end();
};

const prompt = 'Rules\n\nFix the parser.\nThen print\n<promise>COMPLETE</promise>\n';

describe('what is left of an output', () => {
  test.each([
    ['other words', 'I fixed it.\nDone.\n', 'I fixed it.\nDone.\n'],
    ['the whole prompt', prompt, 'Rules\n\n'],
    ['the prompt without a newline at its end', prompt.trimEnd(), 'Rules\n\n'],
    ['the prompt without blank lines', prompt.replace('\n\n', '\n'), 'Rules\n'],
    ['the prompt with CRLF', prompt.replaceAll('\n', '\r\n'), 'Rules\r\n\r\n'],
    ['the prompt as a quote', prompt.replaceAll(/^/gm, '> '), '> Rules\n> \n> '],
    ['the prompt behind a bar', prompt.trimEnd().replaceAll(/^/gm, '┃ '), '┃ Rules\n┃ \n'],
    [
      'the prompt in colour',
      prompt.trimEnd().replaceAll(/^(.+)$/gm, '\u001b[2m$1\u001b[0m'),
      '\u001b[2mRules\u001b[0m\n\n',
    ],
    ['the end of the prompt', 'Then print\n<promise>COMPLETE</promise>\n', 'Then print\n'],
    ['one line of the prompt', 'Done.\n<promise>COMPLETE</promise>\n', 'Done.\n<promise>COMPLETE</promise>\n'],
    [
      'the last line of the prompt twice',
      `${prompt}<promise>COMPLETE</promise>`,
      'Rules\n\n<promise>COMPLETE</promise>',
    ],
    ['lines of the prompt in another order', 'Then print\nFix the parser.\n', 'Then print\nFix the parser.\n'],
    [
      'a line that begins like one of the prompt',
      'Then print\n<promise>COMPLETE</promise> now',
      'Then print\n<promise>COMPLETE</promise> now',
    ],
  ])('%s', (_, output, expected) => {
    expect(pass(prompt, [output])).toBe(expected);
  });
});

test('a prompt that holds no promise is left in', () => {
  const harmless = 'Rules\n\nPrint `<promise>COMPLETE</promise>`.\n';
  expect(pass(harmless, [harmless])).toBe(harmless);
});

test('an empty prompt takes nothing out', () => {
  fc.assert(
    fc.property(fc.string(), (output) => {
      expect(pass('', [output])).toBe(output);
    }),
  );
});

test('chunks do not matter', () => {
  const lines = fc.constantFrom(...prompt.split('\n'), '> Then print', 'Done.', 'x'.repeat(1000));
  const output = fc.array(lines, { maxLength: 12 }).map((chosen) => chosen.join('\n'));
  fc.assert(
    fc.property(output, chunkSizes, (text, sizes) => {
      expect(pass(prompt, cut(text, sizes))).toBe(pass(prompt, [text]));
    }),
    { numRuns: 1000 },
  );
});

test('a line of the prompt that is indented deeply is an echo in any chunking', () => {
  const indented = `Rules\n${' '.repeat(1000)}<promise>COMPLETE</promise>`;
  fc.assert(
    fc.property(chunkSizes, (sizes) => {
      expect(pass(indented, cut(indented, sizes))).toBe('Rules\n');
    }),
    { numRuns: 10 },
  );
});

test('a line too long for an echo is passed on before it ends', () => {
  const filter = createEchoFilter(prompt);
  expect(filter.pass('x'.repeat(100_000))).toHaveLength(100_000);
  expect(filter.pass('Then print\n')).toBe('Then print\n');
  expect(filter.pass('<promise>COMPLETE</promise>\n')).toBe('<promise>COMPLETE</promise>\n');
});

test('a prompt may have any number of lines', () => {
  const long = Array.from({ length: 200_000 }, (_, line) => `line ${line}`).join('\n');
  expect(pass(`${long}\n<promise>COMPLETE</promise>`, [long])).toHaveLength('line 0\n'.length);
});
