import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { change, createProject, type TestProject } from '../support/project.ts';

const run = '20261101-070312-24b2f7f6';
const fixture = (name: string) => readFileSync(join('test/fixtures/version-1', name), 'utf8');

/** A project whose interrupted run was written in version 1 of the disk format. */
const createOldProject = async (): Promise<TestProject> => {
  const project = createProject({
    files: { [`.spool/changes/${change}/tasks.md`]: '- [x] one\n- [ ] two\n' },
    agent: [says('Hi.'), `sed -i 's/\\[ \\]/[x]/' .spool/changes/${change}/tasks.md; ${promise}`],
  });
  // Creates the records folder, whose name depends on the project.
  await project.spool('ralph', '--change', change, '--max-iterations', '1');
  rmSync(project.stateFile('runs'), { recursive: true });
  const records = join(project.home, '.local/state/spool/projects');
  const record = join(records, readdirSync(records)[0]!, change);
  const put = (path: string, name: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, fixture(name).replaceAll('{{project}}', project.folder));
  };
  put(project.stateFile('state.json'), 'state.json');
  put(project.stateFile('history.jsonl'), 'history.jsonl');
  put(project.stateFile(`runs/${run}/start.json`), 'start.json');
  writeFileSync(project.stateFile(`runs/${run}/place`), `${project.folder}\n`);
  put(join(record, `runs/${run}.json`), 'record.json');
  put(join(record, 'ends'), 'ends');
  return project;
};

test('a run of version 1 is shown with the names of version 2', async () => {
  const project = await createOldProject();

  const { stdout } = await project.spool('ralph', '--status', '--json', '--change', change);

  const { status, view, iterations } = JSON.parse(stdout) as { status: string; view: object; iterations: object[] };
  expect(status).toBe('interrupted');
  expect(view).toMatchObject({
    v: 2,
    finishedIterations: 1,
    sameErrorCount: 0,
    deferred: [],
    deferredSinceMs: null,
    cooldowns: { opencode: expect.any(Number) },
    currentUsage: { costUsd: 0.25 },
    workspace: { root: project.folder },
    settings: { explicit: expect.arrayContaining(['verify']) },
  });
  expect(iterations).toMatchObject([
    {
      v: 2,
      tasks: { done: 1, total: 2 },
      repeated: { title: 'npm test' },
      deferred: [{ v: 2, error: { kind: 'rate-limit' } }],
    },
  ]);
});

test('an interrupted run of version 1 is resumed with its gate and written as version 2', async () => {
  const project = await createOldProject();
  const old = readFileSync(project.stateFile('history.jsonl'), 'utf8');

  const result = await project.spool('ralph', '--change', change);

  expect(result.stderr).toContain('Resuming at iteration 2');
  expect(result).toMatchObject({ code: 0 });
  const history = readFileSync(project.stateFile('history.jsonl'), 'utf8');
  expect(history.startsWith(old)).toBe(true);
  expect(project.history().map(({ v, iteration }) => ({ v, iteration }))).toEqual([
    { v: 1, iteration: 1 },
    { v: 2, iteration: 2 },
  ]);
  expect(project.state()).toMatchObject({
    v: 2,
    run,
    status: 'complete',
    finishedIterations: 2,
    gate: { verify: ['true'], requireTasks: true },
    usage: { costUsd: 0.75 },
  });
});

test('a damaged state.json is rebuilt from a start record and a history of version 1', async () => {
  const project = await createOldProject();
  writeFileSync(project.stateFile('state.json'), '{"v":1,');

  const { stdout, stderr } = await project.spool('ralph', '--status', '--json', '--change', change);

  expect(stderr).toContain('rebuilt from the history (1 iteration)');
  expect((JSON.parse(stdout) as { view: object }).view).toMatchObject({ v: 2, run, finishedIterations: 1 });
});

test('the workspace file is found under its name in version 1', async () => {
  const project = createProject({ agent: [promise] });
  await project.spool('ralph', '--change', change);
  const folder = project.stateFile(`runs/${project.state().run}`);
  rmSync(join(folder, 'workspace'));
  writeFileSync(join(folder, 'place'), '/elsewhere\n');

  const result = await project.spool('rewind', change, '0');

  expect(result).toMatchObject({ code: 2 });
  expect(result.stderr).toContain('place names another folder');
});
