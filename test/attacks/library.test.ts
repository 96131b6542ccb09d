import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type AgentFunction, followRun, openProject, readRun, SpoolError, startRun, stopRun } from '../../src/index.ts';
import { waitsFor } from '../support/agents.ts';
import { change, createProject, type TestProject } from '../support/project.ts';

/** What a program that uses the library gets from a hostile project or agent. */

/** Sets the title and the clipboard, clears the screen, and reverses text. */
const hostile = 'x\u001b]0;title\u0007\u001b]52;c;aGk=\u0007\u001b[2J\r\u009b2J\u202e\u2066y';
const anyHostile = /[\0-\b\v-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

const hostileTextsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return anyHostile.test(value) ? [JSON.stringify(value)] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap((entry) => entry.flatMap(hostileTextsIn));
};

const prints = (event: object) => `cat <<'END'\n${JSON.stringify(event)}\nEND`;

const agent = [
  prints({ type: 'tool_use', part: { tool: hostile, state: { status: 'completed', title: hostile, input: {} } } }),
  prints({ type: 'text', part: { type: 'text', text: `text ${hostile}` } }),
  prints({ type: 'text', part: { type: 'text', text: `<promise>BLOCKED</promise>\nbecause ${hostile}` } }),
].join('\n');

const journalOf = (project: TestProject) => join(project.stateFile('runs'), project.state().run, 'events.jsonl');

const followed = async (project: TestProject) => {
  const { folder, env } = project;
  const items = [];
  for await (const item of followRun(openProject(folder), change, { env })) items.push(item);
  return items;
};

test('no event, view, result or warning contains control characters', async () => {
  const project = createProject();
  const seen: unknown[] = [];
  const writer: AgentFunction = ({ cwd, emit }) => {
    writeFileSync(join(cwd, `file-${hostile.replaceAll('/', '')}`), 'x');
    emit({ type: 'tool', tool: hostile, title: hostile });
    emit({ type: 'stderr', text: hostile });
    return `text ${hostile}\n\n<promise>BLOCKED</promise>\nbecause ${hostile}`;
  };
  const options = { project: openProject(project.folder), change, env: project.env };

  const result = await startRun({
    ...options,
    prompt: hostile,
    agents: { writer },
    settings: { maxIterations: 1, verify: ['echo \u202e; false'] },
    onEvent: (...event) => seen.push(event),
    onWarning: (text) => seen.push(text),
  });

  expect(result).toMatchObject({ reason: 'blocked', detail: expect.stringContaining('because x') });
  expect(hostileTextsIn([seen, result])).toEqual([]);
  const tools = seen.flatMap((item) => (JSON.stringify(item).includes('"type":"tool"') ? [item] : []));
  expect(tools).toMatchObject([[{ event: { tool: 'xy', title: 'xy' } }, { status: 'running' }]]);
});

test('nothing that is read from the files of a run contains control characters', async () => {
  const project = createProject({ agent: [agent] });
  await project.spool('ralph', '--change', change, '--max-iterations', '1');
  const [first, ...lines] = readFileSync(journalOf(project), 'utf8').split('\n');
  const forged = { ...(JSON.parse(first!) as object), view: undefined, event: { type: 'notice', text: hostile } };
  writeFileSync(journalOf(project), [first, JSON.stringify(forged), ...lines].join('\n'));
  writeFileSync(project.stateFile('state.json'), JSON.stringify({ ...project.state(), module: hostile }));
  appendFileSync(
    project.stateFile('history.jsonl'),
    JSON.stringify({ ...project.history()[0], iteration: 2, harness: hostile, tools: { [hostile]: 1 } }),
  );

  const items = await followed(project);
  const saved = await readRun(openProject(project.folder), change, { env: project.env });

  expect(items.map(({ event }) => (event?.type === 'notice' ? event.text : ''))).toContain('xy');
  expect(saved).toMatchObject({ view: { module: 'xy' }, iterations: [{}, { harness: 'xy', tools: { xy: 1 } }] });
  expect(hostileTextsIn([items, saved])).toEqual([]);
});

test('an error contains no control characters', async () => {
  const project = createProject();
  const lock = { id: '11111111-1111-1111-1111-111111111111', pid: 1, start: 'x', host: hostile };
  project.write(`.spool/.state/ralph/${change}/lock`, JSON.stringify(lock));
  const { folder, env } = project;

  const error = (await startRun({ project: openProject(folder), change, env }).catch((each) => each)) as SpoolError;

  expect(error).toBeInstanceOf(SpoolError);
  expect(error).toMatchObject({ code: 'locked', message: expect.stringContaining('PID 1 on xy') });
  expect(hostileTextsIn([error.message])).toEqual([]);
});

test('a folder in place of a file is a SpoolError', async () => {
  const project = createProject({ agent: [waitsFor('never')] });
  const loop = project.start(['ralph', '--change', change]);
  await loop.printed('waiting for never');
  for (const path of [journalOf(project), project.stateFile('control.jsonl'), project.stateFile('history.jsonl')]) {
    rmSync(path, { force: true });
    mkdirSync(path);
  }
  const opened = openProject(project.folder);

  for (const attempt of [() => followed(project), () => stopRun(opened, change), () => readRun(opened, change)])
    expect(await attempt().catch((error: unknown) => error)).toMatchObject({
      name: 'SpoolError',
      code: 'io',
      message: expect.stringContaining('it is a folder'),
    });
  loop.kill('SIGKILL');
});
