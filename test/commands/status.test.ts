import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { widthOf } from '../../src/text/format.ts';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';
import { openWatch } from '../support/watch.ts';

const tasks = `.spool/changes/${change}/tasks.md`;
const ticks = (line: number) => `sed -i '${line}s/ ]/x]/' ${tasks}`;
const prints = (event: object) => `printf '%s\\n' '${JSON.stringify(event)}'`;
const spends = (cost: number) =>
  prints({ type: 'step_finish', part: { reason: 'stop', tokens: { input: 1500, output: 100 }, cost } });
const promises = prints({ type: 'text', part: { text: '<promise>COMPLETE</promise>' } });

const run = ['ralph', '--change', change, '--verify', 'test -e done', '--retry-delay', '1ms'];

/** A run with four iterations: one works, one fails, one promises too early, one is done. */
const createNight = () =>
  createProject({
    files: { [tasks]: '- [ ] Parser\n- [ ] Totals\n- [ ] Command line\n' },
    agent: [
      `${ticks(1)}; seq 9 > parser.txt; ${spends(0.06)}`,
      `${spends(0.01)}; exit 3`,
      `${ticks(2)}; seq 5 > totals.txt; ${spends(0.08)}; ${promises}`,
      `${ticks(3)}; touch done; ${spends(0.02)}; ${promises}`,
    ],
  });

/** Times, commits and bars differ from run to run. */
const masked = (text: string) =>
  text
    .replaceAll(/\d\d:\d\d → \d\d:\d\d \([^)]+\)/g, '<when>')
    .replaceAll(/\b[0-9a-f]{8}\b/g, '<commit>')
    .replaceAll(/ +[\d.]+m?s +[█▏▎▍▌▋▊▉]+ +/g, ' <took> ');

const facts = [
  `✔ ${change}  Complete: done and verified in iteration 4.`,
  '  Tasks       3/3 done',
  '  Run         4/50 iterations · <when> · opencode',
  '  Spent       6,000 tokens in, 400 out, $0.17',
  '  Changed     4 files +17 -3 · 3 commits <commit>..<commit>',
  '  Checks      2 runs, 1 passed, 1 failed',
  '  Trouble     #2 failed: the agent exited with code 3',
  '              #3 promise rejected: "test -e done" failed (exit code 1, retried once)',
];

const next = [
  `  Review      spool diff ${change} --all`,
  `  Log of #3   spool logs ${change} 3`,
  `  Archive     spool archive ${change}`,
];

const iterations = [
  '  #  result    exit  took          tasks  files  lines    cost          done          commit',
  '  1  worked       0 <took> 1/3      2  +10 -1  $0.06  ████▌   Parser        <commit>',
  '  2  failed       3 <took> 1/3      0  -       $0.01  ▊                     -',
  '  3  rejected     0 <took> 2/3      2  +6 -1   $0.08  ██████  Totals        <commit>',
  '  4  done         0 <took> 3/3      2  +1 -1   $0.02  █▌      Command line  <commit>',
];

test('a run ends with the screen that "spool status" shows, and both stay readable after it is archived', async () => {
  const project = createNight();

  const ended = await project.spool(...run);
  const status = await project.spool('status', '002-01');
  expect(status).toMatchObject({ code: 0, stderr: '' });
  const lines = masked(status.stdout).split('\n');
  // The widths of the columns depend on the times.
  expect(lines.map((line) => line.replace(/^( {2}#.* exit) +took +tasks/, '$1  took          tasks'))).toEqual([
    ...facts,
    '',
    ...iterations,
    '',
    ...next,
    '',
  ]);
  expect(ended.stderr).toContain(`\n\n${status.stdout}`);
  expect((await project.spool('ralph', '--status', '--change', change)).stdout).toBe(status.stdout);

  await project.spool('archive', change);
  expect((await project.spool('status', change)).stdout).toBe(status.stdout);
  expect((await project.spool('list')).stdout).toContain('No active changes');
  expect((await project.spool('list', '--archived')).stdout).toMatch(new RegExp(`^${change} .* 3/3 +complete`, 'm'));
  expect((await project.spool('status')).stdout).toBe('1 run of archived changes (--all shows them)\n');
  expect((await project.spool('status', '--all')).stdout).toMatch(new RegExp(`^complete +${change} +4/50 +3/3`, 'm'));
  const shown = await project.spool('show', '002-01', '--json');
  expect(JSON.parse(shown.stdout)).toMatchObject({
    kind: 'change',
    id: change,
    archived: true,
    tasks: [{ done: true }, {}, {}],
  });
  expect((await project.spool('logs', '002-01', '3')).stdout).toContain('<promise>COMPLETE</promise>');
  expect(JSON.parse((await project.spool('diff', '002-01', '--all', '--json')).stdout)).toMatchObject({
    filesChanged: 4,
    insertions: 17,
    deletions: 3,
    files: [{}, { path: 'done' }, { path: 'parser.txt', insertions: 9 }, { path: 'totals.txt' }],
  });
  expect((await project.spool('diff', change, '3..', '--stat')).stdout).toContain('2 files changed');
  expect((await project.spool('diff', change, '..1', '--stat')).stdout).toContain('parser.txt');
  expect(await project.spool('diff', change, '2', '--all')).toMatchObject({ code: 2 });
});

/** The screen of a command in a terminal, without the lines that a shell needs whole. */
const screenOf = async (project: TestProject, args: readonly string[], columns: number) => {
  const terminal = openTerminal(project, args, { columns });
  await terminal.exitCode;
  const lines = terminal.lines().map(({ text }) => text);
  return lines.filter((line) => !line.includes(' spool '));
};

test('at 120, 80 and 50 columns no line of the screen wraps, and the figures stay', async () => {
  const project = createNight();
  await project.spool(...run);

  for (const columns of [120, 80, 50]) {
    const lines = await screenOf(project, ['status', change], columns);
    const row = lines.find((line) => /^ +3 {2}rejected/.test(line));
    expect(row).toMatch(/2\/3 .*\$0\.08/);
    expect(row).toMatch(/[█▏▎▍▌▋▊▉]/);
    const all = await screenOf(project, ['status'], columns);
    expect(all.join('\n')).toMatch(/^complete +002-01\S+ .*3\/3/m);
    for (const line of [...lines, ...all]) expect(widthOf(line)).toBeLessThanOrEqual(columns);
  }
});

test('a list shows the status of a run in its color, and leaves out what does not fit', async () => {
  const project = createProject({ agent: [promise] });
  await project.spool(...run.slice(0, 3));

  for (const columns of [80, 40]) {
    const terminal = openTerminal(project, ['list'], { columns, env: { NO_COLOR: undefined } });
    expect(await terminal.exitCode).toBe(0);
    expect(terminal.raw()).toContain('\u001b[32mcomplete');
    for (const { text, rows } of terminal.lines()) expect([text, rows]).toEqual([text, 1]);
  }
});

test('of a long run the last iterations are shown, and all of them on request', async () => {
  const project = createProject({ agent: ['true'] });
  await project.spool('ralph', '--change', change, '--max-iterations', '1');
  const [first] = project.history();
  const records = Array.from({ length: 30 }, (_, index) => JSON.stringify({ ...first, iteration: index + 1 }));
  writeFileSync(project.stateFile('history.jsonl'), `${records.join('\n')}\n`);
  project.startedLike((view) => ({ ...view, iteration: 30, finishedIterations: 30, maxIterations: 50 }));

  const few = await project.spool('status', change);
  expect(few.stdout.match(/^ +\d+ {2}no changes/gm)).toHaveLength(20);
  expect(few.stdout).toContain('  10 earlier iterations (--all shows all)\n');
  const all = await project.spool('status', change, '--all');
  expect(all.stdout.match(/^ +\d+ {2}no changes/gm)).toHaveLength(30);
  expect(all.stdout).not.toContain('earlier');
});

test('"Changed" counts what the iterations of a resumed run did, and not what others did in between', async () => {
  const agent = ['seq 3 > agent.txt', waitsFor('never'), `seq 5 > agent.txt; echo mine > second.txt; ${promise}`];
  const project = createProject({ agent });
  const loop = project.start(['ralph', '--change', change]);
  await loop.printed('waiting for never');
  loop.kill('SIGINT');
  await loop.result;
  expect(project.state().changed).toEqual({ files: 1, insertions: 3, deletions: 0 });
  project.write('theirs.txt', 'one\ntwo\n');
  project.write('agent.txt', '1\n2\n3\nfour\n');
  project.git('add', 'theirs.txt', 'agent.txt');
  project.git('commit', '--quiet', '-m', 'theirs');

  expect(await project.spool('ralph', '--change', change)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('  Changed     2 files +6 -1 · '),
  });
  expect((await project.spool('status', change)).stdout).toContain('  Changed     2 files +6 -1 · ');
});

test('running runs come first, with what they do now, and a killed one is interrupted', async () => {
  const other = '002-02_other';
  const project = createProject({
    files: { [`.spool/changes/${other}/proposal.md`]: '# Other\n\nText.\n' },
    agent: [promise, waitsFor('never')],
  });
  expect((await project.spool('status')).stdout).toContain('No runs yet.');
  await project.spool('ralph', '--change', other);
  const loop = project.start(['ralph', '--change', change]);
  await loop.printed('waiting for never');

  let both: string[] = [];
  // What an agent prints is in the journal within a tenth of a second.
  await eventually(async () => {
    both = (await project.spool('status')).stdout.split('\n');
    return both[1]?.endsWith(' waiting for never') ?? false;
  }, 'the words of the agent in the status');
  expect(both[1]).toMatch(new RegExp(`^running +${change} +1/50 `));
  expect(both[2]).toMatch(new RegExp(`^complete +${other} `));
  const one = await project.spool('status', change);
  expect(one.stdout).toMatch(new RegExp(`^● ${change} {2}Running: iteration 1 of 50, PID ${loop.pid}\\.$`, 'm'));
  expect(one.stdout).toContain('  Now         waiting for never\n');
  expect(one.stdout).toContain(`  Follow      spool logs ${change} --follow\n  Stop        spool stop ${change}\n`);
  expect(await project.spool('diff', change)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`No iteration of ${change} has finished yet.`),
  });
  loop.kill('SIGKILL');
  await loop.result;

  const rows = JSON.parse((await project.spool('status', '--json')).stdout) as object[];
  expect(rows).toMatchObject([
    { change, status: 'interrupted', activity: expect.stringMatching(/^the process is gone/) },
    { change: other, status: 'complete' },
  ]);
  expect(readFileSync(project.stateFile('state.json'), 'utf8')).toContain('"running"');
});

const limited = {
  type: 'error',
  error: { name: 'APIError', data: { message: 'usage limit reached, try again in 90s', statusCode: 429 } },
};

test.each([
  ['paused', waitsFor('go'), ['pause'], 'Paused. Resume with'],
  ['waiting', `${prints(limited)}; exit 1`, [], 'Resuming at'],
  ['stopping', waitsFor('never'), ['stop'], 'Stop requested'],
])('a run that is %s is called so in every table and in JSON', async (phase, script, steer, line) => {
  const project = createProject({ agent: [script] });
  const loop = project.start(run);
  if (steer.length > 0) {
    await loop.printed('waiting for');
    const steered = project.spool(...steer, change);
    await loop.printed('requested');
    project.write('go', '');
    await steered;
  }
  await loop.printed(line);
  const screen = async (...args: string[]) => {
    const terminal = openTerminal(project, args, { columns: 50 });
    await terminal.exitCode;
    return terminal.screen();
  };
  const json = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await project.spool(...args, '--json')).stdout);

  expect(await screen('status')).toMatch(new RegExp(`^${phase} +002-01`, 'm'));
  expect(await screen('list')).toMatch(new RegExp(`002-01.* ${phase} `));
  expect(await json('status')).toMatchObject([{ status: 'running', phase }]);
  expect(await json('status', change)).toMatchObject({ status: 'running', phase });
  expect(await json('list')).toMatchObject([{ lastRun: { status: 'running', phase } }]);
  const watch = openWatch(project, { columns: 50 });
  await watch.has(new RegExp(`^1 run · 0 running · 1 ${phase}`));
  await watch.has(new RegExp(`^> ${phase} +002-01`));
  watch.type('q');
  await watch.exitCode;
  loop.kill('SIGINT');
  await loop.result;
  expect(await json('status', change)).toMatchObject({ status: 'interrupted', phase: null });
});
