import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeTasks } from '../../../../src/changes/tasks/merge.ts';

/** Overlapping lines are a conflict. */
const refuses = async () => null;
/** Keeps lines that either side appends. */
const appends = async ({ base, mine, theirs }: { base: string; mine: string; theirs: string }) =>
  mine + theirs.slice(base.length);

const one = '- [ ] one\n- [ ] two\n';

test.each([
  [
    'a tick and an added task on the next line',
    one,
    `${one}- [ ] three\n`,
    '- [ ] one\n- [x] two\n',
    '- [ ] one\n- [x] two\n- [ ] three\n',
  ],
  [
    'a tick with a note',
    one,
    `${one}- [ ] three\n`,
    '- [ ] one\n- [x] two (in a.ts)\n',
    '- [ ] one\n- [x] two (in a.ts)\n- [ ] three\n',
  ],
  [
    'a tick and an added task above',
    one,
    `- [ ] zero\n${one}`,
    '- [x] one\n- [ ] two\n',
    '- [ ] zero\n- [x] one\n- [ ] two\n',
  ],
  ['ticks on both sides', one, '- [x] one\n- [ ] two\n', '- [ ] one\n- [x] two\n', '- [x] one\n- [x] two\n'],
  ['a task that the user deleted', one, '- [ ] one\n', '- [x] one\n- [x] two\n', '- [x] one\n'],
  [
    'a task that the user reworded is open again',
    one,
    '- [ ] one\n- [ ] TWO\n',
    '- [x] one\n- [x] two\n',
    '- [x] one\n- [ ] TWO\n',
  ],
  ['a task that the user reopened', '- [x] one\n- [ ] two\n', one, '- [x] one\n- [x] two\n', '- [ ] one\n- [x] two\n'],
  [
    'tasks with the same name',
    '- [ ] a\n- [ ] a\n',
    '- [ ] a\n- [ ] a\n- [ ] b\n',
    '- [x] a\n- [ ] a\n',
    '- [x] a\n- [ ] a\n- [ ] b\n',
  ],
  ['Windows line endings', '- [ ] a\r\n', '- [ ] a\r\n- [ ] b\r\n', '- [x] a\r\n', '- [x] a\r\n- [ ] b\r\n'],
  [
    'sections with a status',
    '### Task 1: A\n- **Status**: [ ] pending\n### Task 2: B\n- **Status**: [ ] pending\n',
    '### Task 0: Z\n- **Status**: [ ] pending\n### Task 1: A\n- **Status**: [ ] pending\n### Task 2: B\n- **Status**: [ ] pending\n',
    '### Task 1: A\n- **Status**: [x] complete\n### Task 2: B\n- **Status**: [ ] pending\n',
    '### Task 0: Z\n- **Status**: [ ] pending\n### Task 1: A\n- **Status**: [x] complete\n### Task 2: B\n- **Status**: [ ] pending\n',
  ],
  [
    'a note of the user after a task that the agent ticked',
    one,
    '- [ ] one\n- [ ] two (see #12)\n',
    '- [x] one\n- [x] two\n',
    '- [x] one\n- [x] two (see #12)\n',
  ],
  [
    'a task that was ticked after the user reworded it',
    one,
    '- [ ] one\n- [ ] two, with tests\n',
    '- [x] one\n- [x] two, with tests\n',
    '- [x] one\n- [x] two, with tests\n',
  ],
  [
    'notes on both sides',
    one,
    '- [ ] one\n- [ ] two (see #12)\n',
    '- [ ] one\n- [x] two (in a.ts)\n',
    '- [ ] one\n- [x] two (see #12)\n',
  ],
  [
    'a task that the user reopened, with a note',
    '- [x] one\n- [ ] two\n',
    '- [ ] one (not yet)\n- [ ] two\n',
    '- [x] one (in a.ts)\n- [x] two\n',
    '- [ ] one (not yet)\n- [x] two\n',
  ],
  [
    'line endings that the user changed',
    one,
    '- [ ] one\r\n- [ ] two\r\n- [ ] three\r\n',
    '- [x] one\n- [x] two (in a.ts)\n',
    '- [x] one\r\n- [x] two (in a.ts)\r\n- [ ] three\r\n',
  ],
  [
    'line endings that the agent changed',
    '- [ ] one\r\n- [ ] two\r\n',
    '- [ ] one\r\n- [ ] two\r\n- [ ] three\r\n',
    '- [x] one\n- [ ] two\n',
    '- [x] one\n- [ ] two\n- [ ] three\n',
  ],
  [
    'a status with other line endings',
    '### Task 1: A\n- **Status**: [ ] pending\n',
    '### Task 1: A\r\n- **Status**: [ ] pending\r\n',
    '### Task 1: A\n- **Status**: [x] complete\n',
    '### Task 1: A\r\n- **Status**: [x] complete\r\n',
  ],
  ['a task on both sides', one, `${one}- [ ] three\n`, `${one}- [x] three\n`, `${one}- [x] three\n`],
  ['a last line without a newline', '- [ ] a', '- [ ] a\n- [ ] b', '- [x] a\n', '- [x] a\n- [ ] b\n'],
  ['an unknown base', null, `${one}- [ ] three\n`, '- [x] one\n- [ ] two\n', '- [x] one\n- [ ] two\n- [ ] three\n'],
])('%s', async (_, base, mine, theirs, merged) => {
  expect(await mergeTasks({ base, mine, theirs }, refuses)).toBe(merged);
});

test('keeps tasks that both sides added', async () => {
  const versions = { base: one, mine: `${one}- [ ] mine\n`, theirs: '- [x] one\n- [ ] two\n- [x] theirs\n' };
  expect(await mergeTasks(versions, appends)).toBe('- [x] one\n- [ ] two\n- [ ] mine\n- [x] theirs\n');
});

test.each([
  ['a task that the agent deleted', one, `${one}- [ ] three\n`, '- [x] one\n'],
  ['a task of the agent that would be lost', null, one, `${one}- [ ] of the agent\n`],
  ['lines that both sides changed', one, '- [ ] eins\n- [ ] two\n', '- [ ] uno\n- [ ] two\n'],
])('%s is a conflict', async (_, base, mine, theirs) => {
  expect(await mergeTasks({ base, mine, theirs }, refuses)).toBe(null);
});

test('ticks of the agent and tasks added anywhere by the user always merge, and none is lost', async () => {
  const title = fc.stringMatching(/^[a-z]{1,8}$/);
  const tasks = fc.uniqueArray(fc.record({ title, ticked: fc.boolean(), added: fc.boolean() }), {
    selector: (task) => task.title,
  });
  await fc.assert(
    fc.asyncProperty(tasks, async (list) => {
      const write = (wanted: typeof list, isDone: (task: (typeof list)[number]) => boolean) =>
        wanted.map((task) => `- [${isDone(task) ? 'x' : ' '}] ${task.title}\n`).join('');
      const old = list.filter(({ added }) => !added);
      const merged = await mergeTasks(
        { base: write(old, () => false), mine: write(list, () => false), theirs: write(old, ({ ticked }) => ticked) },
        refuses,
      );
      expect(merged).toBe(write(list, ({ added, ticked }) => !added && ticked));
    }),
  );
});
