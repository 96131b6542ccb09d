import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createProject, type Result, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

/** Sets the clipboard and the title, clears the screen, moves the cursor back, and reverses text. */
const hostile = 'x\u001b]52;c;aGVsbG8=\u0007\u001b[2J\r\u009d0;t\u009c\u009b2J\u202e\u2066\u200f\u061c\u007fy';
const anyHostile = /[\0-\b\v-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
/** A folder whose name has control characters is no change. Those that reverse text are left. */
const hostileName = hostile.replaceAll(/\p{Cc}/gu, '');
const change = `001-01_${hostileName}`;
const id = '001-01';

const octal = (text: string) => [...Buffer.from(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
const print = (text: string) => `printf '${octal(text)}'`;

const files = {
  [`.spool/changes/${change}/proposal.md`]: `# Title ${hostile}\n\nWhy ${hostile}\n`,
  [`.spool/changes/${change}/tasks.md`]: `- [ ] task ${hostile}\n- [x] done ${hostile}\n`,
  [`.spool/modules/001_${hostileName}/module.md`]: `# Module ${hostile}\n`,
};

/** Prints, does and creates hostile things, then gives up with a hostile reason. */
const agent = [
  print(`text ${hostile}\n`),
  `${print(`error ${hostile}\n`)} >&2`,
  `touch "$(${print(`file ${hostile}`)})"`,
  `touch "$(${print(`.env.${hostile}`)})" .env`,
  print(`<promise>BLOCKED</promise>\nbecause ${hostile}\n`),
].join('\n');

const withHook = (project: TestProject): TestProject => {
  project.write('.git/hooks/pre-commit', `#!/bin/sh\n${print(`hook ${hostile}\n`)} >&2\nexit 1\n`);
  chmodSync(project.path('.git/hooks/pre-commit'), 0o755);
  return project;
};

const expectClean = (what: string, { stdout, stderr }: Pick<Result, 'stdout' | 'stderr'>) => {
  expect([what, anyHostile.exec(stdout)?.[0], anyHostile.exec(stderr)?.[0]]).toEqual([what, undefined, undefined]);
};

test('no control sequence reaches stdout or stderr, from any source, in any command', async () => {
  const project = withHook(createProject({ files, agent: [agent] }));
  const commands = [
    ['list'],
    ['list', '--json'],
    ['show', id],
    ['show', '999'],
    ['show', hostile],
    ['ralph', '--change', id, '--status'],
    ['ralph', '--change', id, '--add-context', hostile],
    ['ralph', '--change', id, '--max-iterations', '1', '--verbose', '--verify', `echo ${hostile}; false`],
    ['ralph', '--change', id, '--max-iterations', '1', '--fresh', '--json'],
    ['ralph', '--change', id, '--status'],
    ['ralph', '--change', id, '--status', '--json'],
    ['ralph', '--change', hostile],
    ['ralph', '--all', '--max-iterations', '1', '--fresh', '--parallel', '2'],
    ['ralph', '--change', id, `--${hostile}`],
    [hostile],
    ['accept', id],
    ['rewind', id, '0', '--dry-run'],
    ['rewind', id, '0'],
    ['land', id],
    ['prune', '--yes', '--keep', '1'],
    ['doctor'],
    ['archive', id],
  ];
  let printed = '';
  for (const args of commands) {
    const result = await project.spool(...args);
    expectClean(args.join(' '), result);
    printed += result.stdout + result.stderr;
  }
  // All of them were printed, without their control sequences.
  for (const source of [
    'Title x',
    'task x',
    '001-01_x',
    'text x',
    'error x',
    'because x',
    'hook x',
    '.env.x',
    'file x',
  ])
    expect(printed).toContain(source);
});

test('no control sequence from a config file reaches stderr', async () => {
  for (const config of [
    { [hostile]: 1 },
    { harness: hostile },
    { verify: [hostile, 7] },
    { harnesses: { [hostile]: { command: hostile, args: [hostile], install: hostile } } },
    { changes: { [hostile]: { [hostile]: 1 } } },
  ]) {
    const project = createProject({
      files: { ...files, '.spool/config.json': JSON.stringify(config) },
      agent: [agent],
    });
    for (const args of [['harnesses'], ['harnesses', '--json'], ['doctor'], ['ralph', '--change', id]])
      expectClean(`${JSON.stringify(config)} ${args.join(' ')}`, await project.spool(...args, '--max-iterations', '1'));
  }
});

test('in a real terminal, all control sequences are those of Spool', async () => {
  const project = withHook(createProject({ files, agent: [agent] }));
  const { NO_COLOR: _, ...env } = project.env;
  const terminal = openTerminal({ ...project, env: env as typeof project.env }, [
    'ralph',
    '--max-iterations',
    '1',
    '--change',
    id,
  ]);
  await terminal.exitCode;

  const raw = terminal.raw();
  expect(raw).toContain('\u001b[1m── Iteration 1');
  const ours =
    /\u001b\[(?:1|2|22|3[1236]|39)m|\u001b\[\?(?:7|2026)[hl]|\u001b\[[JK]|\r\n|\r(?=\u001b)|\u0007(?=$|[^\u0007]*$)/g;
  expect(anyHostile.exec(raw.replaceAll(ours, ''))).toBeNull();
  expect(raw).not.toContain('\u001b]');
});

test('a prompt shows names without control sequences', async () => {
  const project = createProject({
    files: { ...files, '.spool/changes/001-02_other/proposal.md': '# Other\n\nOther.\n' },
  });
  const terminal = openTerminal(project, ['ralph']);
  await terminal.shows('001-02_other');
  terminal.type('\u0003');
  expect(await terminal.exitCode).toBe(130);
  for (const code of ['\u001b]52', '\u001b[2J', '\u009d', '\u202e', '\u2066', '\u200f', '\u061c'])
    expect(terminal.raw()).not.toContain(code);
});

test('text that looks like a style of Spool is printed unchanged', async () => {
  const project = createProject({ files: { '.spool/changes/001-01_a/tasks.md': '- [ ] <31>red \u001b[31mred\n' } });
  const { stdout } = await project.spool('show', '001-01_a');
  expect(stdout).toContain('<31>red red');
});

test('printed commands can be pasted into a shell, for any name of a change', async () => {
  const name = `001-01_a b'c"d$(touch PWNED)`;
  const project = createProject({
    files: { [`.spool/changes/${name}/proposal.md`]: '# A\n\nText.\n' },
    agent: ['echo work > work.txt; exit 1'],
  });
  const printed = [
    await project.spool('ralph', '--change', name, '--status'),
    await project.spool('ralph', '--change', name, '--max-iterations', '1', '--verify', `echo 'it' $(touch PWNED)`),
    await project.spool('ralph', '--change', name, '--status'),
    await project.spool('land', name),
    await project.spool('rewind', name, '0'),
  ].flatMap(({ stdout, stderr }) => `${stdout}\n${stderr}`.split('\n'));
  const commands = printed.flatMap(
    (line) => /spool (?:ralph|land|rewind|accept) .*?(?=", then|"\.?$|\.?$)/.exec(line) ?? [],
  );

  expect(commands.length).toBeGreaterThan(4);
  for (const command of commands) {
    // `spool` prints its arguments: the name must be one of them.
    const words = execFileSync('/bin/sh', ['-c', `spool() { printf '%s\\n' "$@"; }; ${command}`], {
      cwd: project.folder,
      encoding: 'utf8',
    });
    expect(words.split('\n')).toContain(name);
  }
  expect(project.exists('PWNED')).toBe(false);
});

test('secrets are redacted on the screen', async () => {
  const secret = 'correct-horse-battery';
  const project = createProject({ agent: ['echo "I use $DEPLOY_TOKEN"; echo "$DEPLOY_TOKEN" >&2; exit 1'] });
  const args = ['ralph', '--change', '002-01', '--max-iterations', '1', '--verify', `echo ${secret}`];
  const { stdout, stderr } = await project.start(args, { env: { DEPLOY_TOKEN: secret } }).result;
  expect(stdout).toContain('I use [redacted]');
  expect(stdout + stderr).not.toContain(secret);
});

test('properties of objects are not placeholders of a commit message', async () => {
  const project = createProject({
    files: { '.spool/config.json': JSON.stringify({ commitMessage: '{change} {constructor} {__proto__}' }) },
    agent: ['echo work > work.txt; echo "<promise>COMPLETE</promise>"'],
  });
  await project.spool('ralph', '--change', '002-01');
  expect(project.git('log', '-1', '--format=%s')).toMatch(/ \{constructor\} \{__proto__\}$/);
});
