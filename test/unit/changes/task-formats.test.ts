import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatOf } from '../../../src/changes/file/formats.ts';
import { idsOf } from '../../../src/changes/file/id.ts';
import { asUserError } from '../../../src/errors.ts';
import {
  backlogTask,
  backlogTaskDone,
  backlogTitle,
  bmadSpec,
  bmadStory,
  featureList,
  prd,
  ralphexPlan,
  taskMaster,
  taskMasterDone,
} from '../../fixtures/task-files.ts';

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

const boxless = '### Task 1: Page\n\n- [x] Write it\n\n### Task 2: Deploy\n\nWith care.\n';

const files: readonly [name: string, path: string, text: string, tasks: string[]][] = [
  ['Markdown tasks', 'TODO.md', '# Todo\n\n- [x] one\n- [ ] two\n', ['x one', '- two']],
  ['Markdown tasks', 'PRD.md', '# A page\n\nIt is dark.\n', []],
  ['Markdown tasks', 'plan.md', '### Task 1: one\n\n- **Status**: [ ] pending\n- [ ] detail\n', ['- 1: one']],
  ['Markdown tasks', 'notes.md', '---\ntitle: x\n---\n- [ ] one\n', ['- one']],
  ['ralphex plan', 'docs/plans/x.md', ralphexPlan, ['x Write the page', '- Test it', '- Send it']],
  [
    'ralphex plan',
    'docs/plans/y.md',
    '### Task 1: Page\n\n- [x] Write it\n\n### Task 2: Deploy\n\nWith care.\n\n### Iteration 3: Rest\n\n- [ ] Go\n',
    ['x Write it', '- Task 2: Deploy', '- Go'],
  ],
  ['ralphex plan', 'z.md', '# Plan\n\n### Iteration 1: Page\n\nIt is dark.\n', ['- Iteration 1: Page']],
  ['Markdown tasks', 'z.md', '- [ ] one\n\n### Task 1: Page\n\nIt is dark.\n', ['- one', '- 1: Page']],
  ['BMAD story', '1-2-login.md', bmadStory, ['x Write the page', '- Test it']],
  [
    'BMAD build spec',
    'spec.md',
    bmadSpec,
    ['- `page.html` -- make it dark -- the intent', 'x `page.test.js` -- test it -- proof'],
  ],
  [
    'Backlog.md task',
    'back-200 - Login.md',
    backlogTask,
    ['x #1 It is dark', '- #2 It is tested', '- #1 It is documented'],
  ],
  [
    'Backlog.md task',
    'back-1 - X.md',
    '---\nid: BACK-1\ntitle: Login\nstatus: Done\n---\n\n## Description\n\nIt.\n',
    ['x Login'],
  ],
  ['Backlog.md task', 'task-2 - X.md', backlogTitle, ["- Fix: it's dark"]],
  ['prd.json', 'prd.json', json(prd), ['x US-001 Dark page', '- US-002 Tests']],
  ['feature list', 'feature_list.json', json(featureList), ['- The page is dark', 'x It is tested']],
  ['Task Master tasks', 'tasks.json', json(taskMaster), ['x 1 Page', '- 2 Tests', 'x? 3 Later']],
  ['Task Master tasks', 'tasks.json', json(taskMaster.master), ['x 1 Page', '- 2 Tests', 'x? 3 Later']],
  [
    'Task Master tasks',
    'tasks.json',
    json({ master: taskMaster.master, other: { tasks: [{ id: 1, title: 'Other', status: 'review' }] } }),
    ['x master: 1 Page', '- master: 2 Tests', 'x? master: 3 Later', '- other: 1 Other'],
  ],
];

describe.each(files)('%s in %s', (name, path, text, tasks) => {
  const tasksIn = (current: string) =>
    formatOf(text, path)
      .tasks(current)
      .map(({ title, done, optional }) => `${done ? 'x' : '-'}${optional ? '?' : ''} ${title}`);

  test.each([
    ['as it is', text],
    ['with CRLF', text.replaceAll('\n', '\r\n')],
    ['with a BOM', `\uFEFF${text}`],
  ])('%s', (_, version) => {
    const format = formatOf(version, path);
    expect(format.name).toBe(name);
    expect(tasksIn(version)).toEqual(tasks);
    expect(format.wording!(version)).toBe(format.wording!(text));
    expect(format.titles(version)).toEqual(format.titles(text));
  });
});

const noStatus = bmadStory.replace('Status: ready-for-dev\n', '');
const withKey = (line: string) => backlogTask.replace('status: To Do\n', `status: To Do\n${line}\n`);

type Edit = readonly [what: string, path: string, text: string, from: string | RegExp, to: string, isGoal: boolean];

/** Edits of an agent, and whether they change the goal. */
const edits: readonly Edit[] = [
  ['a tick', 'x.md', ralphexPlan, '- [ ] Send it', '- [x] Send it', false],
  ['a new task', 'x.md', ralphexPlan, '## Notes', '### Task 3: More\n\n- [ ] New\n\n## Notes', false],
  ['a tick below a heading without boxes', 'x.md', boxless, 'With care.', 'With care.\n\n- [x] Deployed', false],
  ['a reworded heading without boxes', 'x.md', boxless, 'Deploy', 'Nothing', true],
  ['a reworded heading', 'x.md', ralphexPlan, 'Task 1: The page', 'Task 1: Nothing', true],
  ['a box outside of the tasks', 'x.md', ralphexPlan, 'Somebody likes it', 'Nobody likes it', true],
  ['a task moved out of its section', 'x.md', ralphexPlan, /(\n### Task 1[^]*?\n)(- \[ \] Send it\n)/, '\n$2$1', true],
  ['another validation command', 'x.md', ralphexPlan, 'test -e work.txt', 'true', true],
  ['a status', 'x.md', bmadStory, 'ready-for-dev', 'review', false],
  ['the list of files', 'x.md', bmadStory, '### File List', '### File List\n\n- page.html', false],
  [
    'a requirement like a status',
    'x.md',
    bmadStory.replace('1. It', 'Status: 404'),
    'Status: 404',
    'Status: 200',
    true,
  ],
  ['a status that is none', 'x.md', bmadStory.replace('ready-for-dev', '404 if light'), '404', '200', true],
  [
    'a status in a section',
    'x.md',
    noStatus.replace('1. It is dark', 'Status: done'),
    'Status: done',
    'Status: review',
    true,
  ],
  ['a task moved out of its section', 'x.md', bmadStory, /(\n## Tasks[^]*?\n)( {2}- \[ \] Test it\n)/, '\n$2$1', true],
  ['a heading that is none any more', 'x.md', bmadStory, '## Tasks / Subtasks', 'Tasks / Subtasks', true],
  ...['Rules\n=====', 'Rules\nof it\n---', '  ## Rules', '## Rules ##', '<h2>Rules</h2>'].map((heading): Edit => [
    `text below ${heading}`,
    'x.md',
    `${bmadStory}\n${heading}\n\nKeep data.\n`,
    'Keep',
    'Delete',
    true,
  ]),
  ['a criterion', 'x.md', bmadStory, '1. It is dark', '1. It is light', true],
  ['a subtask', 'x.md', bmadStory, '  - [ ] Test it\n', '', true],
  ['a heading of the agent above the text', 'x.md', bmadStory, '## Story', '## Change Log\n\n## Story', false],
  ['text moved into a section of the agent', 'x.md', bmadStory, '## Acceptance Criteria', '## Change Log', true],
  ['a status', 'x.md', bmadSpec, "status: 'ready-for-dev'", "status: 'done'\nbaseline_commit: abc", false],
  ['the frozen part', 'x.md', bmadSpec, 'is not dark', 'is dark', true],
  ['a label that is none any more', 'x.md', bmadSpec, '**Execution:**', '__Execution:__', true],
  ['another title', 'x.md', bmadSpec, "title: 'Login'", "title: 'Nothing'", true],
  ['a status', 'x.md', backlogTask, 'status: To Do', 'status: Done', false],
  ['an assignee', 'x.md', backlogTask, "  - '@ada'", "  - '@me'\n  - '@you'", false],
  ['all that the tool writes', 'x.md', backlogTask, backlogTask, backlogTaskDone, false],
  ['a key in quotes', 'x.md', withKey('"must haves": keep data'), 'keep data', 'delete data', true],
  ['a key with a blank', 'x.md', withKey('must haves: keep data'), 'keep data', 'delete data', true],
  ['a comment', 'x.md', withKey('# keep data'), 'keep data', 'delete data', true],
  ['a heading that is none any more', 'x.md', backlogTask, '## Acceptance Criteria', 'Acceptance Criteria', true],
  ['a criterion moved out of its section', 'x.md', backlogTask, /(\n## Acc[^]*?)(- \[ \] #2.*\n)/, '\n$2$1', true],
  ['a summary', 'x.md', backlogTask, /$/, '\n## Final Summary\n\nDone.\n', false],
  ['a deleted criterion', 'x.md', backlogTask, '- [ ] #2 It is tested\n', '', true],
  ['a label', 'x.md', backlogTask, '- web', '- none', true],
  ['passes', 'prd.json', json(prd), '"passes": false', '"passes": true', false],
  ['white space', 'prd.json', json(prd), /\n */g, ' ', false],
  ['a title', 'prd.json', json(prd), 'Tests', 'Nothing', true],
  ['notes', 'prd.json', json(prd), '"notes": ""', '"notes": "later"', true],
  ['passes at the top', 'prd.json', json(prd), '"project"', '"passes": true, "project"', true],
  ['invalid JSON', 'prd.json', json(prd), '{', '', true],
  ['passes', 'feature_list.json', json(featureList), '"passes": false', '"passes": true', false],
  ['a step', 'feature_list.json', json(featureList), 'Open it', 'Skip it', true],
  ['a status', 'tasks.json', json(taskMaster), /pending/g, 'done', false],
  ['all that the tool writes', 'tasks.json', json(taskMaster), json(taskMaster), json(taskMasterDone), false],
  [
    'all that the tool writes',
    'tasks.json',
    json(taskMaster.master),
    json(taskMaster.master),
    json(taskMasterDone),
    false,
  ],
  ['another dependency', 'tasks.json', json(taskMaster), /"dependencies": \[\s+1\s+\]/, '"dependencies": []', true],
  ['a cancelled task', 'tasks.json', json(taskMaster), 'pending', 'cancelled', true],
  ['a deferred task that is done', 'tasks.json', json(taskMaster), 'deferred', 'done', true],
  ['a title', 'tasks.json', json(taskMaster), 'Unit', 'None', true],
];

test.each(edits)('%s in %s', (_what, path, text, from, to, isGoal) => {
  const format = formatOf(text, path);
  const edited = text.replace(from, () => to);
  expect(edited).not.toBe(text);
  const isKept =
    format.wording!(edited) === format.wording!(text) &&
    format.titles(text).every((title) => format.titles(edited).includes(title));
  expect(isKept).toBe(!isGoal);
});

describe('a wrong shape is one clear line', () => {
  test.each([
    ['{', 'it is not valid JSON'],
    ['', 'it is empty. Write { "userStories": [{ "title": "…", "passes": false }] }'],
    ['"text"', 'it has no tasks that Spool knows'],
    ['{}', 'it has no tasks that Spool knows'],
    [json({ prd: { userStories: [] } }), '"userStories" must be an array at the top level'],
    [json({ userStories: [{ title: 'a', status: 'open' }] }), 'userStories[0] has "status", but only "passes" says'],
    [json({ userStories: [{ title: 'a', passes: true }, { title: 'b' }] }), 'userStories[1] needs "passes"'],
    [json({ userStories: [{ passes: true }] }), 'userStories[0] needs a "title"'],
    [json([1]), 'entry [0] is not an object'],
    [json([{ description: 'a', passes: 'yes' }]), 'entry [0] needs "passes"'],
    [json({ tasks: [{ title: 'a' }] }), 'tasks[0] needs "status"'],
    [json({ a: { tasks: [{ title: 'a', status: 'done', subtasks: [{}] }] } }), 'a.tasks[0].subtasks[0] needs "status"'],
    ['['.repeat(100_000), 'it is not valid JSON'],
  ])('%.60s', (text, problem) => {
    const format = formatOf(text, 'docs/x.json');
    expect(format.titles(text)).toEqual([]);
    expect(format.wording!(text)).toBe(text);
    try {
      format.tasks(text);
      expect.unreachable();
    } catch (error) {
      const { code, message } = asUserError(error)!;
      expect(code).toBe('bad-task-file');
      expect(message).toContain(`docs/x.json cannot be used as a task file: ${problem}`);
      expect(message).not.toContain('\n');
    }
  });
});

test.each([
  ['TODO.md', '## Validation Commands\n\n- `rm -rf /`\n', []],
  ['plan.md', ralphexPlan, ['test -e work.txt', 'test -e page.html']],
  ['spec.md', `${bmadSpec}\n**Manual checks:**\n- \`page.html\` is dark\n`, ['test -e work.txt']],
  ['story.md', bmadStory, []],
  ['task.md', backlogTask, []],
  ['prd.json', json(prd), []],
])('the verify commands in %s', (path, text, commands) => {
  expect(formatOf(text, path).commands(text)).toEqual(commands);
});

test('nothing else is thrown, whatever a file contains', () => {
  const known = fc.constantFrom(...files.map(([, , text]) => text));
  const broken = fc.tuple(known, fc.nat(), fc.string()).map(([text, at, noise]) => {
    const index = at % (text.length + 1);
    return text.slice(0, index) + noise + text.slice(index + noise.length);
  });
  fc.assert(
    fc.property(fc.oneof(broken, fc.string(), fc.json()), fc.constantFrom('x.md', 'x.json'), (text, path) => {
      const format = formatOf(text, path);
      expect(format.wording!(text)).toBe(format.wording!(text));
      format.titles(text);
      try {
        format.tasks(text);
      } catch (error) {
        expect(asUserError(error)?.code).toBe('bad-task-file');
      }
    }),
  );
});

test.each([
  ['docs/plans/x.md', 'docs-plans-x'],
  ['TODO.md', 'todo'],
  ['.taskmaster/tasks/tasks.json', 'taskmaster-tasks-tasks'],
  ['backlog/tasks/back-200 - Add größe.md', 'backlog-tasks-back-200-add-gro-e'],
  ['002-01.md', 'file-002-01'],
  ['計画.md', 'file'],
])('the ID of %s', (path, id) => {
  expect(idsOf(path)[0]).toBe(id);
  expect(idsOf(path)[1]).toMatch(new RegExp(`^${id}-[0-9a-f]{6}$`));
});

test('JSON is recognised in a file of any name', () => {
  expect(formatOf(json(taskMaster), 'tasks.txt').name).toBe('Task Master tasks');
  expect(formatOf('[link](a.md)\n\n- [ ] one\n', 'TODO').name).toBe('Markdown tasks');
});

test('a field of a task that is named like one of the guard is guarded too', () => {
  const text = json({ tasks: [{ id: 1, title: 'Page', status: 'pending', shelved: false }] });
  const format = formatOf(text, 'tasks.json');
  expect(
    format.wording!(text.replace('"shelved": false', '"shelved": true').replace('"shelved":false', '"shelved":true')),
  ).not.toBe(format.wording!(text));
  expect(format.wording!(text.replace('pending', 'done'))).toBe(format.wording!(text));
});
