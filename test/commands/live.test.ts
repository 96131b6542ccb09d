import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const run = ['ralph', '--change', change];
const json = (event: object) => `cat <<'END'\n${JSON.stringify(event)}\nEND`;
const text = (words: string) => json({ type: 'text', part: { text: words } });
const tool = (name: string, state: object) => json({ type: 'tool_use', part: { tool: name, state } });
const waits = (file: string) => `until [ -e "$HOME/${file}" ]; do sleep 0.01; done`;
const spends = json({
  type: 'step_finish',
  part: { reason: 'stop', cost: 0.0055, tokens: { input: 5000, output: 250 } },
});
const ticks = `sed -i '0,/\\[ \\]/s//[x]/' .spool/changes/${change}/tasks.md`;
const files = { [`.spool/changes/${change}/tasks.md`]: '- [ ] 1. Parser\n- [ ] 2. Printer\n' };

const message = [
  "I'll **implement** part 1 of `src/parser.ts` now, and this sentence is long enough to be wrapped at eighty columns.",
  '',
  '## Plan',
  '- one item',
  '```',
  'code **stays**',
  '```',
].join('\n');

const agent = [
  [
    text(message),
    tool('bash', { status: 'completed', title: 'Make it', input: { command: 'mkdir -p src\ntouch src/parser.ts' } }),
    tool('edit', { status: 'completed', title: 'src/変更.ts', input: {} }),
    tool('grep', { status: 'completed', title: 'TODO', input: {} }),
    tool('read', { status: 'error', title: 'missing.txt', error: 'no such file', input: {} }),
    spends,
    'echo stray >&2',
    waits('go'),
    `echo work > work.txt; ${ticks}`,
    waits('end'),
    `echo more > .spool/.state/ralph/${change}/context.txt`,
  ].join('\n'),
  `${ticks}\n${text('Done.\n\n<promise>COMPLETE</promise>')}\n${spends}`,
];

const status = / OpenCode is working… \d/;

test.each([
  [50, / OpenCode is working… [\d.]+s · 4 tools · 0\/2 tasks$/],
  [80, / OpenCode is working… [\d.]+s · 4 tools · 0\/2 tasks · <\$0\.01 · 5\.3k tokens$/],
  [120, / OpenCode is working… [\d.]+s · 4 tools · 0\/2 tasks · <\$0\.01 · 5\.3k tokens$/],
])(
  'at %d columns the start, the agent, the status line and the results of a run can be read',
  async (columns, line) => {
    const project = createProject({ files, agent });
    const terminal = openTerminal(project, [...run, '--verify', 'true'], { columns, env: { NO_COLOR: undefined } });
    const lines = () => terminal.lines().map((each) => each.text.trimEnd());
    await eventually(
      () =>
        lines().some((each) => line.test(each) || (columns === 50 && status.test(each) && each.includes('4 tools'))),
      'the status line',
    );
    const before = lines().find((each) => status.test(each));
    expect(before).toMatch(line);
    // It moves without any event, and is there once.
    await eventually(() => lines().some((each) => status.test(each) && each !== before), 'another second');
    expect(lines().filter((each) => status.test(each))).toHaveLength(1);
    expect(terminal.lines().every(({ rows }) => rows === 1)).toBe(true);
    project.write('../home/go', '');
    await eventually(() => lines().some((each) => status.test(each) && each.includes('1/2 tasks')), 'a done task');
    project.write('../home/end', '');
    expect(await terminal.exitCode).toBe(0);

    const all = lines();
    expect(all.filter((each) => status.test(each))).toEqual([]);
    const joined = all.join('\n').replaceAll(/\n {2,}/g, ' ');
    expect(all[0]).toMatch(new RegExp(`^ralph {2}${change} +0/2 tasks$`));
    expect(all[0]!.length).toBeLessThanOrEqual(Math.min(columns, 80));
    for (const fact of [
      'Agent    OpenCode · default model · own permission rules',
      'Done     when it prints <promise>COMPLETE</promise> and "true" passes',
      'Stops    after 50 iterations',
      'Commits  to main, after each iteration',
    ])
      expect(joined).toContain(fact);
    expect(all).toContainEqual(expect.stringMatching(/^── Iteration 1\/50 ─+ \d\d:\d\d ──$/));

    // Messages are wrapped at their words, and a command can be copied.
    expect(joined).toContain('context.txt was edited. The prompt still uses the text from --add-context. To use the');
    expect(all).toContainEqual(expect.stringMatching(new RegExp(`(^  |: )spool accept ${change}$`)));
    const isWhole = /^ {2}Review |^ {4}\.spool\//;
    expect(terminal.lines().filter((each) => each.rows > 1 && !isWhole.test(each.text))).toEqual([]);

    // The agent's words, wrapped, and its tools.
    expect(all.join(' ')).toContain(
      "I'll implement part 1 of src/parser.ts now, and this sentence is long enough to be wrapped at eighty columns.",
    );
    for (const each of [
      'Plan',
      '• one item',
      'code **stays**',
      '  $ mkdir -p src touch src/parser.ts',
      '  ✎ src/変更.ts',
      '  → grep TODO',
      '  ! read failed',
      '  stray',
    ])
      expect(all).toContain(each);
    expect(terminal.raw()).toContain('\u001b[1mimplement\u001b[22m');
    const results = all.join('\n').replaceAll('\n  ', ' ');
    expect(results).toMatch(/^● [\d.]+m?s · 1 task done \(Parser\) · 2 files \+2 -1 · [0-9a-f]{8} · <\$0\.01$/m);
    expect(results).toMatch(
      /^● Promise accepted · [\d.]+m?s · 1 task done \(Printer\) · 1 file \+1 -1 · [0-9a-f]{8} · <\$0\.01$/m,
    );
  },
);

describe('a burst of output', () => {
  const count = 3000;
  /** Numbered lines of many widths, some wider than the terminal and some of wide characters, in small writes. */
  const burst = `i=0; while [ $i -lt ${count} ]; do i=$((i + 1)); case $((i % 5)) in
    0) echo "line $i 全角文字の行はここで折り返される全角文字の行はここで折り返される";;
    1) echo "line $i $(printf '%0200d' 0)";;
    2) ${'echo "{\\"type\\":\\"text\\",\\"part\\":{\\"text\\":\\"line $i\\"}}"'};;
    3) echo "line $i" >&2;;
    *) echo "line $i";;
    esac; done`;

  test('neither loses nor doubles a line when the window is resized', async () => {
    const project = createProject({ agent: [`${waits('go')}\n${burst}\n${text('<promise>COMPLETE</promise>')}`] });
    const terminal = openTerminal(project, run, { columns: 80, rows: 12 });
    await terminal.shows('OpenCode is working…');
    project.write('../home/go', '');
    for (const [index, columns] of [50, 20, 120, 18, 61, 200, 20, 33, 80].entries()) {
      await eventually(
        () =>
          terminal.screen().includes(`line ${(index + 1) * 300} `) ||
          terminal.screen().includes(`line ${(index + 1) * 300}\r`),
        `line ${(index + 1) * 300}`,
      );
      terminal.resize(columns);
    }
    expect(await terminal.exitCode).toBe(0);

    const lines = terminal.lines().map((each) => each.text);
    const numbers = lines.flatMap((line) => /^ {0,2}line (\d+)/.exec(line)?.[1] ?? []).map(Number);
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    expect(lines.filter((line) => line.includes('working'))).toEqual([]);
    // Of each line, all is there.
    expect(lines.filter((line) => /^line \d+ 0{200}$/.test(line))).toHaveLength(count / 5);
  });

  test.runIf(process.platform !== 'win32')('is gone while Spool is suspended, and drawn again below', async () => {
    const project = createProject({ agent: [`echo one; ${waits('go')}; echo two; ${promise}`] });
    const script = `"$@"; echo suspended; ${waits('back')}; fg`;
    const terminal = openTerminal(project, run, { columns: 80, rows: 20, script });
    const texts = () => terminal.lines().map((each) => each.text);
    await eventually(() => texts().includes('one') && status.test(texts().at(-1)!), 'the status line');
    terminal.type('\u001a');
    await eventually(() => texts().includes('suspended'), 'the shell');
    // A shell may print a line about its job first.
    expect(texts().filter((line) => line.includes('OpenCode is working'))).toEqual([]);
    expect(texts()).not.toContain('two');

    project.write('../home/back', '');
    await eventually(() => status.test(texts().at(-1)!), 'the status line again');
    project.write('../home/go', '');
    expect(await terminal.exitCode).toBe(0);
    expect(texts().filter((line) => line.includes('working'))).toEqual([]);
    expect(texts().indexOf('two')).toBeGreaterThan(texts().indexOf('suspended'));
  });

  test('a very long line arrives as it is, and the status line stays below it', async () => {
    const long = `head -c 100000 /dev/zero | tr '\\0' x; ${waits('go')}; echo END; ${promise}`;
    const project = createProject({ agent: [long] });
    const terminal = openTerminal(project, run, { columns: 50 });
    const texts = () => terminal.lines().map((each) => each.text);
    await eventually(() => texts().filter((line) => /^x+$/.test(line)).length >= 1999, 'all rows but the last');
    await eventually(() => status.test(texts().at(-1)!), 'the status line below');
    project.write('../home/go', '');
    expect(await terminal.exitCode).toBe(0);
    expect(texts().join('').replaceAll(/[^x]/g, '').length).toBeGreaterThanOrEqual(100_000);
    expect(texts()).toContainEqual(expect.stringMatching(/^x+END$/));
  });
});

test('Ctrl-C leaves nothing of the status line, and an interruption is no failure', async () => {
  const project = createProject({ agent: [`echo at work; ${waits('never')}`] });
  const terminal = openTerminal(project, run, { columns: 80 });
  await terminal.shows('at work');
  terminal.type('\u0003');
  expect(await terminal.exitCode).toBe(130);
  const lines = terminal.lines().map((each) => each.text);
  expect(lines.filter((line) => /\^C|is working/.test(line))).toEqual([]);
  expect(lines).toContain('Stopping… (Ctrl-C again to force quit)');
  expect(lines).toContainEqual(expect.stringMatching(/^● Interrupted · \d/));
});

test.each([
  ['NO_COLOR', { NO_COLOR: '1' }, false],
  ['TERM=dumb', { TERM: 'dumb', NO_COLOR: undefined }, true],
  ['CI=true', { CI: 'true', NO_COLOR: undefined }, true],
])('%s: no colors, Markdown as it was written, and redrawing only where it works', async (_, env, isLog) => {
  const project = createProject({ files, agent: [text('Some **bold** words'), agent[1]!] });
  const terminal = openTerminal(project, [...run, '--max-iterations', '1'], { env });
  expect(await terminal.exitCode).toBe(3);
  const lines = terminal.lines().map((each) => each.text);
  expect(lines).toContain('Some **bold** words');
  // eslint-disable-next-line no-control-regex
  expect(terminal.raw()).not.toMatch(/\u001b\[[\d;]*m/);
  expect(terminal.raw().includes('\u001b')).toBe(!isLog);
  expect(lines.some((line) => /^\d\d:\d\d:\d\d Iteration 1\/1$/.test(line))).toBe(isLog);
  expect(lines.some((line) => /^\d\d:\d\d:\d\d Iteration 1: /.test(line))).toBe(isLog);
});

test('output that is not UTF-8 gets ASCII, and FORCE_COLOR colors a log', async () => {
  const project = createProject({ files, agent });
  for (const file of ['go', 'end']) project.write(`../home/${file}`, '');
  const plain = await project.start(run, { env: { LANG: 'C' } }).result;
  expect(plain.stdout).toContain('  edit src/変更.ts\n  > grep TODO\n');
  expect(plain.stderr).toMatch(
    /^\d\d:\d\d:\d\d Iteration 1: [\d.]+m?s, 1 task done \(Parser\), 2 files \+2 -1, [0-9a-f]{8}, <\$0\.01$/m,
  );
  expect(plain.stdout + plain.stderr).not.toContain('\u001b');

  const forced = await project.start([...run, '--fresh'], { env: { FORCE_COLOR: '1' } }).result;
  expect(forced.stderr).toMatch(/\u001b\[32m\d\d:\d\d:\d\d Iteration 1: Promise accepted · .*\u001b\[39m$/m);
  expect(forced.stdout + forced.stderr).not.toMatch(/\u001b\[[?\d]*[A-Zhl]/);
});

test('without the stream, the status line says what the agent does', async () => {
  const project = createProject({ files, agent });
  const terminal = openTerminal(project, [...run, '--no-stream'], { columns: 120 });
  await eventually(
    () => terminal.lines().some((each) => / OpenCode is working… .* · <\$0\.01 · → read missing\.txt/.test(each.text)),
    'the last tool',
  );
  for (const file of ['go', 'end']) project.write(`../home/${file}`, '');
  expect(await terminal.exitCode).toBe(0);
  expect(terminal.screen()).not.toContain('mkdir');
});

test('--verbose shows all settings, and --allow-all without a sandbox is a warning', async () => {
  const project = createProject({ agent: [promise] });
  const { stderr } = await project.spool(...run, '--allow-all', '--verbose', '--max-cost', '5', '--idle-timeout', '5m');
  for (const line of [
    '  Module   002',
    '  Agent    OpenCode · default model · everything is allowed without asking (--allow-all)',
    '  Warning  without --sandbox, the agent can access everything that you can',
    '  Stops    50 iterations · $5 · 2h per iteration · 5m idle · 10 failures in a row · 12h waiting for a usage limit · 10 iterations in a row without changes',
  ])
    expect(stderr).toContain(`${line}\n`);
  const short = await project.spool(...run, '--fresh', '--no-commit', '--max-cost', '5', '--idle-timeout', '5m');
  expect(short.stderr).toContain('  Stops    after 50 iterations · at $5 · at most 5m idle\n');
  expect(short.stderr).toContain('  Commits  nothing (--no-commit)\n');
});

test.each([
  [50, /^spool: No change "nothing" in [^\n]*\n {2}/],
  [200, /^spool: No change "nothing" in [^\n]*$/],
])('an error is wrapped at the words at %d columns', async (columns, wrapped) => {
  const terminal = openTerminal(createProject({}), ['status', 'nothing'], { columns });
  expect(await terminal.exitCode).toBe(2);
  const lines = terminal.lines().filter(({ text }) => text.trim() !== '');
  expect(lines.map(({ text }) => text.trimEnd()).join('\n')).toMatch(wrapped);
  expect(lines.every(({ rows }) => rows === 1)).toBe(true);
});

test.each<[string, (terminal: Typed, project: TestProject) => unknown]>([
  ['Ctrl-C', (terminal) => terminal.type('\u0003')],
  ['spool stop --now', (_, project) => project.spool('stop', change, '--now')],
])('%s in the middle of a step is no error of the agent', async (_, stop) => {
  const started = json({ type: 'step_start', part: { type: 'step-start' } });
  const project = createProject({ agent: [`${started}\n${text('Looking around.')}\n${waits('never')}`] });
  const terminal = openTerminal(project, run, { columns: 80 });
  await terminal.shows('Looking around.');
  await stop(terminal, project);

  expect(await terminal.exitCode).toBeGreaterThan(128);
  expect(terminal.screen()).toContain('● Interrupted');
  expect(terminal.screen()).not.toContain('in the middle of its work');
  expect(project.history()[0]).toMatchObject({ error: { message: 'the iteration was interrupted' } });
});

type Typed = ReturnType<typeof openTerminal>;
