import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

const tasksFile = `.spool/changes/${change}/tasks.md`;
const works = 'date +%N > work.txt';
const ticks = `sed -i '0,/\\[ \\]/s//[x]/' ${tasksFile}`;
const ladder = ['--escalate', 'opencode:small,opencode:large'];

test('two rejected promises lead to the next rung, a ticked task back, and each switch is announced and recorded', async () => {
  const project = createProject({
    files: { [tasksFile]: '- [ ] one\n- [ ] two\n', '.spool/config.json': '{ "harness": "opencode:other" }' },
    agent: [
      `${works}; ${promise}`,
      `${works}; ${promise}`,
      `${works}; ${ticks}`,
      'exit 1',
      `kill -9 $PPID`,
      `${works}; ${ticks}; ${promise}`,
    ],
  });
  const args = ['ralph', '--change', change, '--require-tasks', '--retry-delay', '0s', ...ladder];

  const killed = await project.spool(...args);
  const status = await project.spool('status', change);
  const resumed = await project.spool('ralph', '--change', change, '--json', '--retry-delay', '0s');

  expect(killed.signal).toBe('SIGKILL');
  expect(killed.stderr).toContain('  Agent    OpenCode · small · then: OpenCode · large · own permission rules');
  expect(killed.stderr).toContain(
    '\nSwitching to opencode:large (rung 2 of 2): 2 iterations in a row were rejected.\n',
  );
  expect(killed.stderr).toContain('Iteration 3/50, OpenCode large\n');
  expect(killed.stderr).toContain('\nBack to opencode:small (rung 1 of 2): iteration 3 completed a task.\n');
  expect(status.stdout).toMatch(
    /\n {2}Agent +opencode:small \(rung 1 of 2\) since iteration 4: iteration 3 completed a task\n/,
  );
  expect(resumed.code).toBe(0);
  expect(project.history().map(({ model, rung, switched }) => [model, rung, switched?.why])).toEqual([
    ['small', 1, undefined],
    ['small', 1, undefined],
    ['large', 2, '2 iterations in a row were rejected'],
    ['small', 1, 'iteration 3 completed a task'],
    ['small', 1, undefined],
  ]);
  expect(project.state()).toMatchObject({ ladder: true, switched: { iteration: 4, rung: 1 } });
  expect(project.calls().map(({ args }) => args.join(' ').match(/small|large|other/)?.[0])).toEqual([
    'small',
    'small',
    'large',
    'small',
    'small',
    'small',
  ]);
});

test('the rung of a resumed run follows from its history, and a rung at its limit is replaced by another', async () => {
  const limit = {
    type: 'error',
    error: { name: 'APIError', data: { message: 'usage limit reached', statusCode: 429 } },
  };
  const project = createProject({
    files: { '.spool/config.json': '{ "escalate": "opencode:small,opencode:large" }' },
    agent: ['exit 1', 'exit 1', 'kill -9 $PPID', `echo '${JSON.stringify(limit)}'; exit 1`, `${works}; ${promise}`],
  });
  const args = ['ralph', '--change', change, '--retry-delay', '0s'];

  expect((await project.spool(...args)).signal).toBe('SIGKILL');
  const { code, stdout } = await project.spool(...args, '--json');

  expect(code).toBe(0);
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; switched?: object });
  expect(events.filter(({ type }) => type === 'agent-switched')).toMatchObject([
    { switched: { from: 'opencode:small', to: 'opencode:large', rung: 2, why: '2 iterations in a row failed' } },
  ]);
  expect(project.history().at(-1)).toMatchObject({
    model: 'small',
    rung: 2,
    completionFound: true,
    deferred: [{ model: 'large', rung: 2 }],
  });
});

test.each([
  [['--escalate', 'opencode'], 'must be a list of at least two different agents'],
  [['--escalate', 'opencode:a,opencode:a'], 'must be a list of at least two different agents'],
  [
    [...ladder, '--harness', 'claude'],
    '--escalate "opencode:small,opencode:large" and --harness "claude" both choose the agents: set only one of them.',
  ],
  [['--escalate', 'opencode,opencodex'], 'opencodex'],
])('%j is an error in one line', async (flags, message) => {
  const project = createProject();

  const { code, stderr } = await project.spool('ralph', '--change', change, ...flags);

  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});

test('--harness or --model of a higher precedence turns the ladder of the config file off', async () => {
  const project = createProject({
    files: { '.spool/config.json': '{ "escalate": "opencode:small,opencode:large" }' },
    agent: [promise],
  });

  expect((await project.spool('ralph', '--change', change, '--model', 'medium')).code).toBe(0);

  expect(project.state()).toMatchObject({ agents: [{ harness: 'opencode', model: 'medium' }] });
  expect(project.state()).not.toHaveProperty('ladder');
});
