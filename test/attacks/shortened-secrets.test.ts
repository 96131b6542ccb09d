import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, type ProjectOptions, type TestProject } from '../support/project.ts';

// Texts that are shortened somewhere on their way, with a key across the position of the cut.

const key = 'zq9XvT4mLp2RkW8yBn6HdJ3sFg7aQe5u';
/** As long as a JWT: when it is masked, a text gets so much shorter that what was beyond the cut moves before it. */
const longKey = Array.from(
  { length: 30 },
  (_, index) => `${index}Hq7${String.fromCodePoint(97 + (index % 26))}Vw2-`,
).join('');

/** Parts of a secret that occur in a text. A few characters do not give a secret away. */
const partsIn = (text: string, secret: string): string[] =>
  Array.from({ length: secret.length - 7 }, (_, at) => secret.slice(at, at + 8)).filter((part) => text.includes(part));

/** Words of this length. */
const words = (length: number): string => 'a word or '.repeat(Math.ceil(length / 10)).slice(0, length);

/** A text with most of the secret before the position, and the rest after it. */
const across = (position: number, secret = key): string => `${words(position - secret.length + 4)} ${secret} `;

const event = (value: object): string => `cat <<'END'\n${JSON.stringify(value)}\nEND\n`;
const message = (text: string): string => event({ type: 'text', part: { type: 'text', text } });
const call = (tool: string, state: object): string => event({ type: 'tool_use', part: { tool, state } });
const print = (text: string): string => `cat <<'END'\n${text}\nEND\n`;

interface Row extends ProjectOptions {
  readonly flags?: readonly string[];
  readonly hook?: readonly [name: string, script: string];
}

const tasksFile = `.spool/changes/${change}/tasks.md`;
const deep = (name: string): string => `${'folder-of-work/'.repeat(Math.floor((name.length - 200) / 15))}`;

const rows: Readonly<Record<string, Row>> = {
  'a verify command that nothing guards': { flags: ['--verify', `echo verify ${key}; false`], agent: [promise] },
  'the output of a verify command, at its end': {
    flags: ['--verify', `printf '%s' '${key}${words(3990)}'; false`],
    agent: [promise],
  },
  'the output of a verify command, before masks': {
    flags: ['--verify', `node -e 'process.exitCode = 1; process.stdout.write(process.env.LONG_KEY.repeat(1000))'`],
    agent: [promise],
  },
  'an error of the agent': {
    agent: [`${event({ type: 'error', error: { name: 'APIError', data: { message: across(2000) } } })}exit 1`],
  },
  'an error of the agent that consists of keys': {
    agent: [`${event({ type: 'error', error: { name: 'APIError', data: { message: longKey.repeat(200) } } })}exit 1`],
  },
  'a line on stderr': { agent: [`{ ${print(`Error: ${across(493)}`)}} >&2; exit 1`] },
  'the end of stdout': {
    agent: [`${print(`${key} status 401: authentication failed. ${words(4000 - 44 - key.length + 8)}`)}exit 1`],
  },
  'an open task': {
    files: { [tasksFile]: `# Tasks\n- [ ] ${across(200)}\n` },
    flags: ['--require-tasks'],
    agent: [promise],
  },
  'a deleted task': {
    files: { [tasksFile]: `# Tasks\n- [ ] ${across(80)}\n- [ ] two\n` },
    agent: [`printf '# Tasks\\n- [ ] two\\n' > ${tasksFile}; ${promise}`],
  },
  'a reason to give up': {
    agent: [message(`${across(8000)}${words(2000)} ${key}${words(3980)}.\n\n<promise>BLOCKED</promise>`)],
  },
  'the words before the promise': {
    agent: [message(`${words(500)} ${key} ${words(240)}.\n\n<promise>COMPLETE</promise>`)],
  },
  'the words before a mention of the promise': {
    agent: [
      message(`${words(500)} ${key} ${words(230)} and then print <promise>COMPLETE</promise> when ${words(40_000)}`),
    ],
  },
  'the name of a tool': { agent: [call(across(1000), { status: 'completed', title: 'x' })] },
  'a call that is repeated': { agent: [call('bash', { status: 'completed', title: across(200) }).repeat(20)] },
  'a denied tool': {
    agent: [
      call(across(500), { status: 'error', error: 'The user rejected permission to use this specific tool call.' }),
    ],
  },
  'a hook that refuses the commit': {
    hook: ['pre-commit', `${print(`error: ${across(493)}`)} exit 1`],
    agent: [`echo work > work.txt; ${promise}`],
  },
  'a long output of a hook that refuses the commit': {
    hook: ['pre-commit', `printf '%s' '${key}${words(1990)}'; exit 1`],
    agent: [`echo work > work.txt; ${promise}`],
  },
  'a hook that fails after the checkout': {
    hook: ['post-checkout', `${print(across(500))} exit 1`],
    flags: ['--branch', 'work'],
    agent: [promise],
  },
  'the name of a file': {
    agent: [`mkdir -p ${deep(across(500))}; echo work > ${deep(across(500))}${'b'.repeat(170)}-${key}; ${promise}`],
  },
  'a message, a thought and a call that consist of keys': {
    agent: [
      message(longKey.repeat(400)) +
        event({ type: 'reasoning', part: { type: 'reasoning', text: longKey.repeat(400) } }) +
        call('bash', { status: 'completed', title: longKey.repeat(400) }),
    ],
  },
};

/** Everything that a run leaves in the project, except prompts, which are stored as they are. */
const written = (project: TestProject): string =>
  readdirSync(project.path('.spool/.state'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('prompt.md'))
    .map((entry) => `${entry.name}: ${readFileSync(join(entry.parentPath, entry.name), 'latin1')}`)
    .join('\n');

const start = (project: TestProject, ...args: string[]) =>
  project.start(args, { env: { MY_API_KEY: key, LONG_KEY: longKey } }).result;

describe.each([
  ['on the terminal', []],
  ['as JSON', ['--json']],
] as const)('%s', (_, format) => {
  test.each(Object.entries(rows))('no part of a key remains of %s', async (_name, { flags = [], hook, ...options }) => {
    const project = createProject(options);
    if (hook !== undefined) {
      project.write(`.git/hooks/${hook[0]}`, `#!/bin/sh\n${hook[1]}\n`);
      chmodSync(project.path(`.git/hooks/${hook[0]}`), 0o755);
    }
    const notify = 'cat > ../told; env | grep "^SPOOL_" > ../told-env';
    const limits = ['--max-iterations', '2', '--retry-delay', '1ms'];
    const run = await start(
      project,
      'ralph',
      'Go.',
      '--change',
      change,
      ...limits,
      '--notify',
      notify,
      ...flags,
      ...format,
    );
    const later =
      format.length > 0
        ? []
        : [
            ['ralph', '--change', change, '--status'],
            ['accept', change],
          ];
    const results = await Promise.all(later.map((args) => start(project, ...args)));

    const told = ['../told', '../told-env'].map((name) => (existsSync(project.path(name)) ? project.read(name) : ''));
    const seen = {
      printed: run.stdout + run.stderr,
      later: results.map(({ stdout, stderr }) => stdout + stderr).join(''),
      written: written(project),
      told: told.join(''),
      commits: project.git('log', '--all', '--format=%B'),
    };
    expect(seen.written).toContain('history.jsonl: {');
    expect(Object.values(seen).join('')).toContain('[redacted]');
    for (const [where, text] of Object.entries(seen))
      expect([where, partsIn(text, key), partsIn(text, longKey)]).toEqual([where, [], []]);
  });
});

test('no part of a key remains of an error that doctor --probe prints', async () => {
  const project = createProject();
  project.write(
    '../bin/opencode',
    `#!/bin/sh\n[ "$1" = run ] || { echo '1.2.3, 1 credentials'; exit; }\ncat > /dev/null\n{ ${print(`Error: ${across(460)}`)}} >&2\nexit 1\n`,
  );
  chmodSync(project.path('../bin/opencode'), 0o755);
  const env = { MY_API_KEY: key, PATH: `${project.path('../bin')}:${project.env.PATH}` };
  const { stdout } = await project.start(['doctor', '--probe'], { env }).result;
  expect(stdout).toContain('a word or');
  expect(partsIn(stdout, key)).toEqual([]);
});

test('no part of a key remains of a version that doctor and harnesses print', async () => {
  for (const command of ['doctor', 'harnesses']) {
    const project = createProject({ agent: ['true'] });
    project.write('../home/agent/version', `1.2.3 ${key} ${key}`);
    const { stdout } = await start(project, command);
    expect(stdout).toContain('1.2.3');
    expect(partsIn(stdout, key)).toEqual([]);
  }
});

test.each([
  ...[900, 930, 960, 990].map((position) => JSON.stringify({ maxIterations: across(position) })),
  `{"some": "${words(80)}", "token": ${key}, "more": "${words(80)}"}`,
])('no part of a key remains of an invalid config.json: %#', async (config) => {
  const project = createProject({ files: { '.spool/config.json': config } });
  const { code, stderr } = await start(project, 'ralph', 'Go.', '--change', change);
  expect(code).toBe(2);
  expect(stderr.length).toBeLessThan(1500);
  expect(partsIn(stderr, key)).toEqual([]);
});
