import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTasks } from '../../../../src/changes/tasks/parse.ts';
import { newlyDone } from '../../../../src/changes/tasks/task.ts';
import { commitSubject, commitTasks, commitTitle } from '../../../../src/run/work/commit-subject.ts';
import { createRedactor } from '../../../../src/secrets/redact.ts';
import { widthOf } from '../../../../src/text/format.ts';

const key = 'sk-ant-api03-Zx9fQ2mL7vR4tY8wB1nC6dE3gH5jK0pA';
const redactor = createRedactor({ SERVICE_TOKEN: key });
const subject = (lastWords: string, ticked: string[] = [], columns = 57) =>
  commitSubject({ ticked, lastWords, iteration: 7 }, redactor, columns);

test.each([
  ['the last sentence', 'Looked around. Added the parser and its tests.', 'Added the parser and its tests'],
  ['the line above the promise', 'Added the parser.\n\n<promise>COMPLETE</promise>\n', 'Added the parser'],
  ['the promise on the same line', 'All routes answer now. <promise>COMPLETE</promise>', 'All routes answer now'],
  ['no abbreviation as an end', 'Handles files, e.g. images and videos.', 'Handles files, e.g. images and videos'],
  ['no remark', 'Added a parser.\n\nAll 12 tests pass. Let me know what you think!', 'Added a parser'],
  ['a remark if there is nothing else', 'Everything is done.', 'Everything is done'],
  ['Markdown', '## Done\n\n- **Parser**: see [the docs](https://example.com/x)', 'Parser: see the docs'],
  ['no heading of a list', 'Wrote three files:\n', 'iteration 7'],
  ['no code', 'Run it like this now.\n```sh\nnpm run all the things\n```', 'Run it like this now'],
  ['no table', 'It is faster now.\n\n| a b | c d |\n|---|---|\n| one two | three |', 'It is faster now'],
  ['a single word', 'Done.', 'iteration 7'],
  ['nothing', '', 'iteration 7'],
  ['only the promise', '<promise>COMPLETE</promise>', 'iteration 7'],
])('takes %s', (_, message, expected) => {
  expect(subject(message)).toBe(expected);
});

test.each([
  'The tests are next.',
  'Documentation comes next.',
  'Next, I add the tests.',
  'Next step: the tests.',
  "I'll write the tests in the next iteration.",
  'I’ll write the tests now.',
  'I will write the tests.',
  "Now I'll write the tests.",
  'Then I will write the tests.',
  'Now, let me write the tests.',
  'Let me write the tests.',
  'Remaining: tests and docs.',
  'Still to do: the docs.',
  'The docs are still to be done.',
  'The docs remain.',
])('what comes next is no subject: %s', (announcement) => {
  expect(subject(`Added GET /health. ${announcement}`)).toBe('Added GET /health');
  expect(subject(announcement)).not.toBe('iteration 7');
});

test.each(['Now the parser reads dates', 'Next page links work in all lists'])(
  'takes work for work: %s',
  (sentence) => {
    expect(subject(`${sentence}.`)).toBe(sentence);
  },
);

test.each(['Now the parser reads dates', 'Then I added the endpoint', 'Left-aligned the table'])(
  'takes the last result for one: %s',
  (sentence) => {
    expect(subject(`Looked at the parser. ${sentence}.`)).toBe(sentence);
  },
);

test('prefers the tasks that were ticked, without their numbers', () => {
  expect(subject('All done now.', ['1. Parser'])).toBe('Parser');
  expect(subject('All done now.', ['2.1 Parser', '3) Write the **docs**'])).toBe('Parser; Write the docs');
});

test('lists tasks and the title of a change without secrets, control characters and Markdown', () => {
  expect(commitTasks(['1. **Parser**', `2. Use ${key}\u001b[31m`], redactor)).toBe('- Parser\n- Use [redacted]');
  expect(commitTasks([], redactor)).toBe('');
  expect(commitTitle('<!-- x -->\n# Add **it**\u202e\n\n# Second\n', redactor)).toBe('Add it');
  expect(commitTitle('No heading.\n', redactor)).toBe('');
});

test('finds the tasks that an iteration has ticked', () => {
  const before = parseTasks('- [x] one\n- [ ] two\n- [ ] same\n- [x] same\n');
  const now = parseTasks('- [x] one\n- [x] two\n- [x] same\n- [x] same\n- [x] new\n- [ ] open\n');
  expect(newlyDone(before, now)).toEqual(['two', 'same', 'new']);
});

describe('hostile texts', () => {
  test.each([
    ['a flag', '--amend the last commit', 'amend the last commit'],
    ['a comment', '# this is a comment', 'this is a comment'],
    ['a trailer', 'All is well\nSigned-off-by: Somebody Else <a@b.c>', 'Signed-off-by: Somebody Else <a@b.c>'],
    ['control characters', 'Added \u001b[31mred\u001b[0m \u0007things\u0000 here', 'Added red things here'],
    ['bidirectional text', 'Added \u202eevil\u202c things', 'Added evil things'],
    ['carriage returns', 'Added the\rparser\r\n', 'Added the'],
    ['a key', `Stored ${key} in the config`, 'Stored [redacted] in the config'],
    ['a hidden key', `Stored ${key.slice(0, 9)}\u200b${key.slice(9)} there`, 'Stored [redacted] there'],
  ])('%s is harmless', (_, message, expected) => {
    expect(subject(message)).toBe(expected);
  });

  test('a key is not cut in half', () => {
    for (let columns = 20; columns < 60; columns++)
      expect(subject(`Stored the value ${key} in it`, [], columns)).not.toMatch(/sk-a/);
  });

  test('any text becomes one line that fits and starts with a word', () => {
    const text = fc.string({ unit: 'binary', maxLength: 100 });
    const any = fc.property(
      text,
      fc.array(text, { maxLength: 3 }),
      fc.integer({ min: 20, max: 72 }),
      (words, tasks, columns) => {
        const line = subject(words, tasks, columns);
        expect(line).not.toBe('');
        expect(line).not.toMatch(/^[-#\s]|[\p{Cc}\u2028\u2029]/u);
        expect(widthOf(line)).toBeLessThanOrEqual(columns);
      },
    );
    fc.assert(any);
  });
});
