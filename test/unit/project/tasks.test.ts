import { describe, expect, test } from 'vitest';
import { countTasks, parseTasks } from '../../../src/project/tasks.ts';

/** `x` for a task that is done, `-` for an open one, then its title. */
const tasksIn = (markdown: string) => parseTasks(markdown).map(({ title, done }) => `${done ? 'x' : '-'} ${title}`);

describe('one line', () => {
  test.each([
    ['- [ ] one', ['- one']],
    ['* [ ] one', ['- one']],
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
    ['- [] one', []],
    ['- [x]one', []],
    ['- [x](link)', []],
    ['-[ ] one', []],
    ['say - [ ] one', []],
    ['', []],
  ])('%j', (line, expected) => {
    expect(tasksIn(line)).toEqual(expected);
  });
});

describe('several lines', () => {
  test.each([
    ['nested', '- [x] one\n  - [ ] two\n    1. [x] three', ['x one', '- two', 'x three']],
    ['CRLF', '# Tasks\r\n\r\n- [x] one\r\n- [ ] two\r\n', ['x one', '- two']],
    ['under headings', '## A\n- [x] one\n### B\n- [ ] two\n', ['x one', '- two']],
    ['in a fence', '- [x] one\n```\n- [ ] no\n```\n- [ ] two', ['x one', '- two']],
    ['in a fence of tildes', '~~~md\n- [ ] no\n```\n- [ ] no\n~~~\n- [ ] two', ['- two']],
    ['in a long fence', '````\n```\n- [ ] no\n```\n````\n- [ ] two', ['- two']],
    ['in an indented fence', '- [x] one\n  ```sh\n  - [ ] no\n  ```\n- [ ] two', ['x one', '- two']],
    ['in a fence that starts a list item', '- ```\n  - [ ] no\n  ```\n- [ ] two', ['- two']],
    ['in a fence with CRLF', '```\r\n- [ ] no\r\n```\r\n- [ ] two', ['- two']],
    ['in a fence that words do not end', '```\n``` sh\n- [ ] no\n```\n- [ ] two', ['- two']],
    ['in a fence that is never closed', '- [x] one\n```\n- [ ] no', ['x one']],
    ['behind inline code of three backticks', '```npm test``` must pass:\n- [ ] one', ['- one']],
    ['behind such code in a list', '- ```npm test``` must pass\n- [ ] one', ['- one']],
  ])('%s', (_, markdown, expected) => {
    expect(tasksIn(markdown)).toEqual(expected);
  });
});

describe('"### Task" sections', () => {
  test.each([
    ['open', '### Task 1.1: Parse\n**Status**: [ ] pending', ['- 1.1: Parse']],
    ['done', '### Task 1.1: Parse\n**Status**: [x] complete', ['x 1.1: Parse']],
    ['done, in capitals', '### Task 1.1: Parse\n**Status**: [X] complete', ['x 1.1: Parse']],
    ['begun', '### Task 1.1: Parse\n**Status**: [~] in progress', ['- 1.1: Parse']],
    ['the colon in bold', '### Task 2\n**Status:** [x]', ['x 2']],
    ['the status in a list', '### Task 2\n- **Status**: [x] complete', ['x 2']],
    ['CRLF', '### Task 2\r\n**Status**: [x]\r\n', ['x 2']],
    ['no number', '### Task: Parse\n**Status**: [x]', ['x Parse']],
    ['several', '### Task 1\n**Status**: [x]\n### Task 2\n**Status**: [ ]\n', ['x 1', '- 2']],
    ['boxes are details', '### Task 1\n- [ ] detail\n**Status**: [x]\n- [ ] detail', ['x 1']],
    ['also under a smaller heading', '### Task 1\n**Status**: [x]\n#### Notes\n- [ ] detail', ['x 1']],
    ['boxes count where there is no status', '### Task 1\n- [x] one\n- [ ] two', ['x one', '- two']],
    ['open without a status and boxes', '### Task 1: Parse\nWords.', ['- 1: Parse']],
    ['a heading ends it', '### Task 1\n**Status**: [x]\n## Rest\n- [ ] two', ['x 1', '- two']],
    ['a heading of its level ends it', '### Task 1\n**Status**: [x]\n### Rest\n- [ ] two', ['x 1', '- two']],
    ['boxes before it', '- [ ] zero\n### Task 1\n**Status**: [x]', ['- zero', 'x 1']],
    ['"### Tasks" is no task', '### Tasks\n- [ ] one', ['- one']],
    ['in a fence', '```\n### Task 1\n**Status**: [ ]\n```', []],
    ['a status in a fence', '### Task 1\n```\n**Status**: [x]\n```', ['- 1']],
  ])('%s', (_, markdown, expected) => {
    expect(tasksIn(markdown)).toEqual(expected);
  });
});

test.each([
  ['', { done: 0, all: 0 }],
  ['- [x] one\n- [ ] two\n- [~] three', { done: 1, all: 3 }],
])('countTasks in %j', (markdown, expected) => {
  expect(countTasks(parseTasks(markdown))).toEqual(expected);
});
