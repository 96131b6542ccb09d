import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { missingTasks } from '../../../../src/changes/tasks/missing.ts';
import { parseTasks, taskTitles } from '../../../../src/changes/tasks/parse.ts';
import { countTasks, openTasks } from '../../../../src/changes/tasks/task.ts';

/** `x` for a done task, `-` for an open one, then `?` for an optional one, then the title. */
const tasksIn = (markdown: string) =>
  parseTasks(markdown).map(({ title, done, optional }) => `${done ? 'x' : '-'}${optional ? '?' : ''} ${title}`);

describe('one line', () => {
  test.each([
    ['- [ ] one', ['- one']],
    ['* [ ] one', ['- one']],
    ['> - [ ] quoted', ['- quoted']],
    ['> > 1. [x] quoted twice', ['x quoted twice']],
    ['- - [ ] a list in a list', ['- a list in a list']],
    ['+ [ ] one', ['- one']],
    ['1. [ ] one', ['- one']],
    ['12) [ ] one', ['- one']],
    ['- [x] one', ['x one']],
    ['- [X] one', ['x one']],
    ['- [~] one', ['- one']],
    ['- [-] one', ['- one']],
    ['- [✓] one', ['- one']],
    ['- [🚧] one', ['- one']],
    ['  - [x] indented', ['x indented']],
    ['\t- [ ] indented', ['- indented']],
    ['        - [ ] deep', ['- deep']],
    ['-   [x]   wide   ', ['x wide']],
    ['- [ ]', ['- ']],
    ['- [ ] see [x](y)', ['- see [x](y)']],
    ['- one', []],
    ['[ ] one', []],
    ['- [] one', ['- one']],
    ['- [ ]one', ['- one']],
    ['- [  ] one', ['- one']],
    ['- [x]one', ['x one']],
    ['- [ x ] one', ['x one']],
    ['- [ X] one', ['x one']],
    ['- [>] one', ['- one']],
    ['- [1] one', ['- one']],
    ['- [✔️] one', ['- one']],
    ['-[ ] one', ['- one']],
    ['1) [ ] one', ['- one']],
    ['1234567890. [ ] one', []],
    ['- [x](link)', []],
    ['- [A](url)', []],
    ['- [A][ref]', []],
    ['- [WIP] one', []],
    ['- [ ]* one', ['-? one']],
    ['- [x]* one', ['x? one']],
    ['- [ ]*', ['-? ']],
    ['- [ ] * one', ['- * one']],
    ['- [ ]**bold** one', ['- **bold** one']],
    ['\uFEFF- [ ] one', ['- one']],
    ['- [ ] one <!-- a note -->', ['- one']],
    ['<!-- - [ ] one -->', []],
    ['- [ ] strip `<!--` and `-->`', ['- strip `<!--` and `-->`']],
    ['say - [ ] one', []],
    ['', []],
  ])('%j', (line, expected) => {
    expect(tasksIn(line)).toEqual(expected);
  });
});

describe('several lines', () => {
  test.each([
    ['nested', '- [x] one\n  - [ ] two\n  - [x] three', ['- two', 'x three']],
    ['nested twice', '- [x] one\n  - [ ] two\n    1. [x] three', ['x three']],
    ['nested by tabs', '- [ ] one\n\t- [x] two\n\t\t- [ ] three\n- [ ] four', ['- three', '- four']],
    ['nested below text', '- [ ] one\n  words\n  - plain\n    - [x] two', ['x two']],
    ['nested after a blank line', '- [ ] one\n\n  - [x] two', ['x two']],
    ['nested below an item without a box', '- [ ] one\n- plain\n  - [x] two', ['- one', 'x two']],
    ['siblings, one indented by a space', '- [ ] one\n - [x] two', ['- one', 'x two']],
    ['indented below a paragraph', '- [ ] one\n\nWords.\n\n  - [x] two', ['- one', 'x two']],
    ['indented below a heading', '- [ ] one\n#### More\n  - [x] two', ['- one', 'x two']],
    ['with optional children only', '- [ ] one\n  - [ ]* two', ['- one', '-? two']],
    ['with an optional child', '- [ ] one\n  - [x] two\n  - [ ]* three', ['x two', '-? three']],
    ['below an optional one', '- [ ]* one\n  - [ ] two', ['-? two']],
    ['in a comment', '<!--\n- [ ] no\n\n- [ ] no\n-->\n- [ ] two', ['- two']],
    ['in an unclosed comment', '<!--\n- [ ] one', ['- one']],
    ['after a comment on its own line', '<!-- a\n-->\n- [ ] one', ['- one']],
    ['after the end of a comment', '<!-- a\n--> - [ ] one', ['- one']],
    ['between comments that start within a line', 'a <!-- b\n- [ ] one\n-->', ['- one']],
    ['after a fence in a comment', '<!--\n```\n-->\n- [ ] one', ['- one']],
    ['in an unclosed fence', '- [x] zero\n\n```sh\nnpm test\n\n- [ ] one', ['x zero', '- one']],
    ['in a fence that another fence does not close', '~~~\n- [ ] one\n```\n- [ ] no\n```', ['- one']],
    ['after a comment in a fence', '```\n<!--\n```\n- [ ] one\n-->', ['- one']],
    ['with lone carriage returns', '- [x] one\r- [ ] two\r', ['x one', '- two']],
    ['with a byte order mark', '\uFEFF### Task 1\n**Status**: [x]', ['x 1']],
    ['CRLF', '# Tasks\r\n\r\n- [x] one\r\n- [ ] two\r\n', ['x one', '- two']],
    ['under headings', '## A\n- [x] one\n### B\n- [ ] two\n', ['x one', '- two']],
    ['in a fence', '- [x] one\n```\n- [ ] no\n```\n- [ ] two', ['x one', '- two']],
    ['in a fence of tildes', '~~~md\n- [ ] no\n```\n- [ ] no\n~~~\n- [ ] two', ['- two']],
    ['in a long fence', '````\n```\n- [ ] no\n```\n````\n- [ ] two', ['- two']],
    ['in an indented fence', '- [x] one\n  ```sh\n  - [ ] no\n  ```\n- [ ] two', ['x one', '- two']],
    ['in a fence that starts a list item', '- ```\n  - [ ] no\n  ```\n- [ ] two', ['- two']],
    ['in a fence with CRLF', '```\r\n- [ ] no\r\n```\r\n- [ ] two', ['- two']],
    ['in a fence that text does not close', '```\n``` sh\n- [ ] no\n```\n- [ ] two', ['- two']],
    ['after inline code with three backticks', '```npm test``` must pass:\n- [ ] one', ['- one']],
    ['after inline code in a list', '- ```npm test``` must pass\n- [ ] one', ['- one']],
  ])('%s', (_, markdown, expected) => {
    expect(tasksIn(markdown)).toEqual(expected);
  });
});

describe('"### Task" sections', () => {
  test.each([
    ['open', '### Task 1.1: Parse\n**Status**: [ ] pending', ['- 1.1: Parse']],
    ['done', '### Task 1.1: Parse\n**Status**: [x] complete', ['x 1.1: Parse']],
    ['done, in capitals', '### Task 1.1: Parse\n**Status**: [X] complete', ['x 1.1: Parse']],
    ['in progress', '### Task 1.1: Parse\n**Status**: [~] in progress', ['- 1.1: Parse']],
    ['the colon in bold', '### Task 2\n**Status:** [x]', ['x 2']],
    ['the status in a list', '### Task 2\n- **Status**: [x] complete', ['x 2']],
    ['CRLF', '### Task 2\r\n**Status**: [x]\r\n', ['x 2']],
    ['no number', '### Task: Parse\n**Status**: [x]', ['x Parse']],
    ['several', '### Task 1\n**Status**: [x]\n### Task 2\n**Status**: [ ]\n', ['x 1', '- 2']],
    ['boxes are details', '### Task 1\n- [ ] detail\n**Status**: [x]\n- [ ] detail', ['x 1']],
    ['boxes under a smaller heading', '### Task 1\n**Status**: [x]\n#### Notes\n- [ ] detail', ['x 1']],
    ['boxes count without a status', '### Task 1\n- [x] one\n- [ ] two', ['x one', '- two']],
    ['open without a status and boxes', '### Task 1: Parse\nWords.', ['- 1: Parse']],
    ['ended by a heading', '### Task 1\n**Status**: [x]\n## Rest\n- [ ] two', ['x 1', '- two']],
    ['ended by a heading of the same level', '### Task 1\n**Status**: [x]\n### Rest\n- [ ] two', ['x 1', '- two']],
    ['boxes before it', '- [ ] zero\n### Task 1\n**Status**: [x]', ['- zero', 'x 1']],
    ['"### Tasks" is not a task', '### Tasks\n- [ ] one', ['- one']],
    ['in a fence', '```\n### Task 1\n**Status**: [ ]\n```', []],
    ['a status in a fence', '### Task 1\n```\n**Status**: [x]\n```', ['- 1']],
    ['a status in a comment', '### Task 1\n<!-- **Status**: [x] -->', ['- 1']],
    ['without the word "Task"', '### 1.3: C\n- **Status**: [>] in-progress', ['- 1.3: C']],
    ['without the word "Task", done', '### 1.3: C\n- **Status**: [x] complete', ['x 1.3: C']],
    ['shelved counts as closed', '### Task 1: A\n- **Status**: [-] shelved', ['x 1: A']],
    ['spaces in the status', '### Task 1\n**Status**: [ x ] complete', ['x 1']],
    ['an empty status', '### Task 1\n**Status**: [] pending', ['- 1']],
    ['a number without a status is a heading', '### 1.1: Setup\n- [ ] one', ['- one']],
    ['such a heading alone', '### 1.1: Setup\nWords.', []],
    ['open next to one with a status', '### 1.1: A\n**Status**: [x]\n### 1.2: B\nWords.', ['x 1.1: A', '- 1.2: B']],
    ['words with a colon are a heading', '### Notes: A\n**Status**: [ ]\n', []],
  ])('%s', (_, markdown, expected) => {
    expect(tasksIn(markdown)).toEqual(expected);
  });
});

test.each([
  ['', { done: 0, total: 0 }],
  ['- [x] one\n- [ ] two\n- [~] three', { done: 1, total: 3 }],
])('countTasks in %j', (markdown, expected) => {
  expect(countTasks(parseTasks(markdown))).toEqual(expected);
});

test('optional tasks are neither counted nor open', () => {
  const tasks = parseTasks('- [x] one\n- [ ]* two\n- [x]* three');
  expect(countTasks(tasks)).toEqual({ done: 1, total: 1 });
  expect(openTasks(tasks)).toEqual([]);
});

describe('missing tasks', () => {
  test.each<[string, string, string[]]>([
    ['- [ ] one\n- [ ] two', '- [x] one\n- [x] two', []],
    ['- [ ] one\n- [ ] two', '- [x] one', ['two']],
    ['- [ ] one\n- [ ] two', '', ['one', 'two']],
    ['- [ ] two', '- [x] too', ['two']],
    ['- [ ] two', '- [x] twofold', ['two']],
    ['- [ ] two', '- [x] ✅ two', []],
    ['- [ ] two', '- [x] ~~two~~', []],
    ['- [ ] two', '- [x] **two** (see a.ts)', []],
    ['- [ ] two', '- [x] two: done', []],
    ['- [ ] 1. two', '- [x] two', []],
    ['- [ ] two', '- [x] 1. two', []],
    ['- [ ] 1. two', '- [x] ✅ 2. two', []],
    ['- [ ] 1.2 two', '- [x] 1.3 two', []],
    ['- [ ] 2 retries', '- [x] 3 retries', ['2 retries']],
    ['- [ ] one\n- [ ] one two', '- [x] one two\n- [x] one (note)', []],
    ['- [ ] one\n- [ ] one', '- [x] one', ['one']],
    ['- [ ] one', '- [ ] one\n  - [x] a\n  - [x] b', []],
    ['- [ ] one\n- [ ] two', '- [x] one\n- [ ]* two', ['two']],
    ['- [ ]* one', '', []],
    ['- [ ]', '', []],
    ['- [ ] one', '<!-- - [ ] one -->', ['one']],
    ['### Task 1: A\n**Status**: [ ]', '### Task 1: A\n**Status**: [-] shelved', ['1: A']],
    ['### Task 1: A\n**Status**: [-]', '', []],
    ['### Task 1: A\n**Status**: [ ]', '### 1: A\n**Status**: [x]', []],
  ])('from %j to %j', (before, after, expected) => {
    expect(missingTasks(taskTitles(before), taskTitles(after))).toEqual(expected);
  });

  test('finds ten thousand reworded tasks', () => {
    const titles = Array.from({ length: 10_000 }, (_, index) => `task ${index}`);
    expect(
      missingTasks(
        titles,
        titles.map((title) => `the ${title}`),
      ),
    ).toEqual(titles);
  });
});

describe('properties', () => {
  const blank = fc.constantFrom('', ' ', '  ', '\t');
  const bullet = fc.constantFrom('-', '*', '+', '1.', '23)');
  const ending = fc.constantFrom('\n', '\r\n', '\r');
  const mark = fc.constantFrom('', 'x', 'X', '~', '-', '>', '✓', '1');
  const title = fc.stringMatching(/^[a-z]{1,8}( [a-z]{1,8}){0,2}$/);
  const box = fc.record({ bullet, gap: blank, before: blank, mark, after: blank, space: blank, title });
  const lineOf = (item: {
    bullet: string;
    gap: string;
    before: string;
    mark: string;
    after: string;
    space: string;
    title: string;
  }) => `${item.bullet}${item.gap}[${item.before}${item.mark}${item.after}]${item.space}${item.title}`;

  test('every box counts once, whatever surrounds its mark, and only x is done', () => {
    fc.assert(
      fc.property(fc.array(box), ending, fc.boolean(), (items, newline, bom) => {
        const markdown = `${bom ? '\uFEFF' : ''}# Tasks${newline}${items.map(lineOf).join(newline)}`;
        expect(parseTasks(markdown).map(({ title, done }) => ({ title, done }))).toEqual(
          items.map(({ title, mark }) => ({ title, done: /^x$/i.test(mark) })),
        );
      }),
    );
  });

  test('a fence and a comment hide their content', () => {
    fc.assert(
      fc.property(
        fc.array(box),
        fc.array(box),
        fc.constantFrom(['```', '```'], ['<!--', '-->']),
        (hidden, shown, [open, close]) => {
          const visible = shown.map(lineOf);
          const markdown = [open, ...hidden.map(lineOf), close, ...visible].join('\n');
          expect(parseTasks(markdown)).toEqual(parseTasks(visible.join('\n')));
        },
      ),
    );
  });

  test('ticking, annotating and adding tasks remove none', () => {
    fc.assert(
      fc.property(fc.array(title), title, (titles, extra) => {
        const after = [
          ...titles.map((text, index) => (index % 2 ? `${index}. ${text}` : `✅ ${text} (${extra})`)),
          extra,
        ];
        expect(missingTasks(titles, after)).toEqual([]);
      }),
    );
  });
});
