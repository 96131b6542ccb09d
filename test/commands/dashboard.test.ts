import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { createProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const first = '010-01_a-change-with-quite-a-long-name-that-fills-a-line';
const second = '010-02_変更の名前は全角文字で書かれている';
const files = {
  [`.spool/changes/${first}/proposal.md`]: '# First\n',
  [`.spool/changes/${second}/proposal.md`]: '# Second\n',
};
const run = ['ralph', '--module', '010', '--parallel', '2', '--max-iterations', '9'];
/** Starts its second iteration once `go-2` exists, its third once `go-3` exists, and so on. */
const agent = [
  `change=$(sed -n 's/^## Change Proposal (\\(.*\\))$/\\1/p' "$call/prompt"); echo x >> "$HOME/n-$change"
   step=$(wc -l < "$HOME/n-$change"); until [ -e "$HOME/go-$((step + 1))" ]; do sleep 0.01; done
   if [ "$step" -ge 3 ]; then ${promise}; fi; echo $$ > work.txt`,
];

const open = (columns: number) => {
  const project = createProject({ files, agent });
  const terminal = openTerminal(project, run, { columns });
  const dashboard = () => terminal.lines().filter(({ text }) => text.startsWith('●'));
  /** Waits until both changes show this iteration, and returns their lines. */
  const reached = async (iteration: number) => {
    let shown = dashboard();
    await eventually(() => {
      shown = dashboard();
      return shown.filter(({ text }) => text.includes(`#${iteration}/9`)).length === 2;
    }, `two lines of iteration ${iteration}`);
    return shown;
  };
  const bothRunning = () =>
    eventually(() => [first, second].every((id) => project.exists(`../home/n-${id}`)), 'both agents to run');
  return {
    ...terminal,
    dashboard,
    reached,
    bothRunning,
    go: (iteration: number) => project.write(`../home/go-${iteration}`, ''),
  };
};

const expected: Readonly<Record<number, readonly [RegExp, RegExp]>> = {
  120: [
    new RegExp(`^● ${first}  #2/9  \\d+:\\d\\d  working$`),
    new RegExp(`^● ${second}  +#2/9  \\d+:\\d\\d  working$`),
  ],
  80: [/^● 010-01_.*(?:…|line) {2}#2\/9 {2}\d+:\d\d {2}working$/, /^● 010-02_変更.* {2}#2\/9 {2}\d+:\d\d {2}working$/],
  50: [/^● 010-01_.*… {2}#2\/9 {2}\d+:\d\d {2}working$/, /^● 010-02_変更.*… +#2\/9 {2}\d+:\d\d {2}working$/],
  26: [/^● 010-01_.*… {2}#2\/9 {2}worki…$/, /^● 010-02_.*… +#2\/9 {2}worki…$/],
  12: [/^● 01… {2}#2\/9$/, /^● 01… {2}#2\/9$/],
};

test.each([120, 80, 50, 26, 12])(
  'at %d columns no line of the dashboard wraps, and each shows state and iteration',
  async (columns) => {
    const terminal = open(columns);
    await terminal.reached(1);
    terminal.go(2);
    const dashboard = await terminal.reached(2);

    expect(dashboard).toHaveLength(2);
    dashboard.forEach(({ text, rows }, index) => {
      expect(text).toMatch(expected[columns]![index]!);
      expect(rows).toBe(1);
    });
    terminal.go(3);
    terminal.go(4);
    expect(await terminal.exitCode).toBe(0);
    expect(terminal.dashboard()).toEqual([]);
    // The table at the end.
    const results = terminal.lines().filter(({ text }) => /^010[^:]* +complete/.test(text));
    expect(results.map(({ rows }) => rows)).toEqual(columns < 26 ? [] : [1, 1]);
  },
);

test.each([
  ['narrower', 100, 40],
  ['wider', 40, 100],
])('the dashboard shows each change once after the window becomes %s', async (_, before, after) => {
  const terminal = open(before);
  await terminal.reached(1);
  await terminal.bothRunning();
  terminal.resize(after);
  terminal.go(2);
  const dashboard = await terminal.reached(2);

  expect(dashboard.map(({ rows }) => rows)).toEqual([1, 1]);
  const lines = terminal.lines().map(({ text }) => text.trimEnd());
  expect(lines.join('').match(/: *iteration 1:/g)).toHaveLength(2);
  terminal.go(3);
  terminal.go(4);
  expect(await terminal.exitCode).toBe(0);
});

const manyFiles = Object.fromEntries(
  Array.from({ length: 6 }, (_, index) => [
    [`.spool/changes/020-0${index + 1}_part/proposal.md`, '# Part\n'],
    [`.spool/changes/020-0${index + 1}_part/tasks.md`, '- [x] One\n- [ ] Two\n'],
  ]).flat(),
) as Record<string, string>;

/** Uses a tool, spends something, and waits. */
const spending = (rest: string) =>
  [
    `echo '{"type":"tool_use","part":{"tool":"bash","state":{"status":"completed","input":{"command":"npm test"}}}}'`,
    `echo '{"type":"step_finish","part":{"reason":"stop","cost":0.02,"tokens":{"input":5000,"output":250}}}'`,
    `echo x >> "$HOME/running"; ${rest}`,
  ].join('; ');

const promised = `; echo '{"type":"text","part":{"text":"<promise>COMPLETE</promise>"}}'`;

test('the dashboard counts time, shows what each run does, the queue and the totals, and Ctrl-C leaves nothing of it', async () => {
  const agentOfMany = [spending('until [ -e "$HOME/go" ]; do sleep 0.01; done')];
  const project = createProject({ files: manyFiles, agent: agentOfMany });
  const terminal = openTerminal(project, ['ralph', '--module', '020', '--parallel', '3'], {
    columns: 80,
    env: { NO_COLOR: undefined },
  });
  const text = () => terminal.lines().map((line) => line.text);
  const runLine = /^● 020-0[123]_part {2}#1\/50 {2}1\/2 {2}\d+:\d\d {2}\$0\.02 {2}\$ npm test$/;
  await eventually(() => text().filter((line) => runLine.test(line)).length === 3, 'three runs with a tool');

  expect(text()).toContainEqual(
    expect.stringMatching(/^Running 3 of 6 · 3 queued · \S+(?: \S+)? · \$0\.06 +Ctrl-C stops all$/),
  );
  expect(text()).toContainEqual('· queued: 020-04, 020-05, 020-06');
  expect(terminal.raw()).toContain('\u001b[36m● 020-01_part');

  // It moves without any event.
  const before = text().find((line) => line.startsWith('Running'));
  await eventually(() => text().find((line) => line.startsWith('Running')) !== before, 'another second on the board');

  terminal.type('\u0003');
  expect(await terminal.exitCode).toBe(130);
  expect(text().filter((line) => /^(?:●|Running|· queued)|\^C/.test(line))).toEqual([]);
  expect(text().filter((line) => line === 'Stopping… (Ctrl-C again to force quit)')).toHaveLength(1);
});

test('more runs than rows are counted, and the dashboard fits on the screen', async () => {
  const project = createProject({
    files: manyFiles,
    agent: [spending('until [ -e "$HOME/go" ]; do sleep 0.01; done') + promised],
  });
  const terminal = openTerminal(project, ['ralph', '--module', '020', '--parallel', '6'], { columns: 50, rows: 5 });
  const text = () => terminal.lines().map((line) => line.text);
  await eventually(
    () => project.exists('../home/running') && project.read('../home/running').length === 12,
    'six agents',
  );
  await eventually(() => text().some((line) => /#1\/50 .*\$ npm test$/.test(line)), 'a run with a tool');

  const board = text().slice(text().findIndex((line) => line.startsWith('Running 6 of 6')));
  expect(board).toHaveLength(4);
  expect(board[3]).toBe('… and 4 more');
  project.write('../home/go', '');
  expect(await terminal.exitCode).toBe(0);
  expect(text().filter((line) => /^(?:●|Running|…)/.test(line))).toEqual([]);
});

test('a run that waits for a usage limit says until when', async () => {
  const limit = `echo '{"type":"error","error":{"name":"APIError","data":{"message":"429 usage limit reached","statusCode":429}}}'; exit 1`;
  const project = createProject({ files, agent: [limit] });
  const terminal = openTerminal(project, run, { columns: 120 });
  const waiting = /^◌ 010-01_.* {2}#1\/9 {2}waiting \d.* until \d\d:\d\d: usage limit of opencode/;
  await eventually(() => terminal.lines().some(({ text }) => waiting.test(text)), 'a run that waits');
  terminal.type('\u0003');
  expect(await terminal.exitCode).toBe(130);
});

test('in a log nothing is redrawn, and each result has its time', async () => {
  const project = createProject({ files, agent: [promise] });
  const { stderr } = await project.spool(...run);
  expect(stderr).toMatch(/^\d\d:\d\d:\d\d 010-01_\S+: iteration 1: Promise accepted · \d/m);
  expect(stderr).not.toContain('\u001b');
  expect(stderr).not.toContain('Running');
});
