import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { commandLine } from '../../../src/text/shell-words.ts';

test.each([
  ['plain', 'plain'],
  ['--model={model}', '--model={model}'],
  ['{a,b}', "'{a,b}'"],
  ['', "''"],
  ["it's", String.raw`'it'\''s'`],
  ["tools/a';touch PWNED;'.sh", String.raw`'tools/a'\'';touch PWNED;'\''.sh'`],
  ['$(id) `id` ~ * !', "'$(id) `id` ~ * !'"],
  ['two\nlines', "'two\nlines'"],
])('%j is quoted as one word for a shell', (word, written) => {
  expect(commandLine(word)).toBe(written);
  expect(execFileSync('sh', ['-c', `printf %s ${commandLine(word)}`], { encoding: 'utf8' })).toBe(word);
});
