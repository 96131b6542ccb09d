import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AgentMode } from '../../src/harness/agent-mode.ts';
import type { Moment } from '../model/server.mjs';
import { createAgentProject } from '../support/agent.ts';
import { createProject, type ProjectOptions, root } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

interface Check {
  readonly about: string;
  readonly status: string;
  readonly message: string;
  readonly fix: string | null;
}

/** A project whose agent answers `--version`, and `auth list` with `signedIn`. */
const healthy = (options: ProjectOptions = {}, signedIn = '1 credentials') => {
  const project = createProject(options);
  project.write(
    '../bin/opencode',
    `#!/bin/sh\n[ "$1" = --version ] && echo 1.2.3 && exit\n[ "$1" = auth ] && echo '${signedIn}' && exit\nexit 9\n`,
  );
  chmodSync(project.path('../bin/opencode'), 0o755);
  return { project, env: { PATH: `${project.path('../bin')}:${project.env.PATH}` } };
};

test('every line is ok and the exit code is 0 if nothing is wrong', async () => {
  const { project, env } = healthy();

  const result = await project.start(['doctor'], { env }).result;

  expect(result).toMatchObject({ code: 0, stderr: '' });
  expect(result.stdout).toMatch(/^ok {4}git {11}git version /m);
  expect(result.stdout).toMatch(/^ok {4}disk {10}\d+\.\d GiB free$/m);
  expect(result.stdout).toMatch(/^ok {4}opencode {6}1\.2\.3, .*bin\/opencode$/m);
  expect(result.stdout).toMatch(/^ok {4}opencode {6}signed in$/m);
  expect(result.stdout.split('\n').filter((line) => line && !line.startsWith('ok '))).toEqual([
    'Ready: spool ralph will use OpenCode.',
  ]);
  const both = await project.start(['doctor', '--harness', 'opencode,amp'], { env }).result;
  expect(both).toMatchObject({ code: 1, stdout: expect.stringMatching(/\n\nNot ready: amp failed\.\n$/) });
});

test('a terminal shows what is being checked, each result at once, and long lines below themselves', async () => {
  const { project, env } = healthy();
  project.write(
    '../bin/opencode',
    `#!/bin/sh\nuntil [ -e '${project.home}/go-on' ]; do sleep 0.05; done\n[ "$1" = auth ] && echo '0 credentials' || echo 1.2.3\n`,
  );

  const terminal = openTerminal(project, ['doctor', '--harness', 'opencode'], { columns: 50, env });
  const texts = () => terminal.lines().map(({ text }) => text.trimEnd());
  await terminal.shows('Checking OpenCode… 0s');
  expect(texts().join('\n')).toMatch(/^ok {4}disk /m);
  writeFileSync(join(project.home, 'go-on'), '');

  expect(await terminal.exitCode).toBe(0);
  const lines = texts();
  expect(lines.join('\n')).not.toContain('Checking');
  const at = lines.findIndex((line) => line.includes('not signed in'));
  expect(lines.slice(at, at + 4)).toEqual([
    'warn  opencode      not signed in (fine if you use',
    '                    an API key or custom provider)',
    '                    Fix: opencode auth login',
    '',
  ]);
  expect(lines).toContain('Ready: spool ralph will use OpenCode.');
});

test('the sign-in check does not run in the project, where an agent could load files', async () => {
  const { project, env } = healthy();
  project.write('../bin/opencode', `#!/bin/sh\n[ "$1" = auth ] && ls -a > '${project.home}/seen.txt'\necho 1.2.3\n`);

  await project.start(['doctor'], { env }).result;

  expect(readFileSync(join(project.home, 'seen.txt'), 'utf8')).toBe('.\n..\n');
});

test('each problem is printed with the command that fixes it', async () => {
  const { project, env } = healthy({ git: false }, '0 credentials');
  project.write('.spool/.state', 'a file where a folder should be');

  const result = await project.start(['doctor', '--json'], { env }).result;

  expect(result.code).toBe(1);
  const checks = JSON.parse(result.stdout) as Check[];
  expect(checks.find(({ about }) => about === 'git')).toMatchObject({ status: 'warn', fix: 'git init' });
  expect(checks.find(({ about }) => about === 'state')).toMatchObject({
    status: 'fail',
    fix: 'make the folder writable',
  });
  expect(checks.filter(({ about }) => about === 'opencode')).toMatchObject([
    { status: 'ok' },
    { status: 'warn', fix: 'opencode auth login' },
  ]);
});

test('the exit code depends only on the agent that a run would use', async () => {
  const { project, env } = healthy();
  project.write(
    '../bin/claude',
    '#!/bin/sh\n[ "$1" = --version ] && echo 2.0.0 && exit\necho \'{ "loggedIn": false }\'; exit 1\n',
  );
  chmodSync(project.path('../bin/claude'), 0o755);

  const [usual, claude, codex] = await Promise.all(
    [[], ['--harness', 'claude'], ['--harness', 'codex']].map(
      (flags) => project.start(['doctor', ...flags], { env }).result,
    ),
  );
  expect(usual!.code).toBe(0);
  expect(usual!.stdout).toMatch(/^fail {2}claude {8}not signed in\n {20}Fix: claude auth login$/m);
  expect(claude).toMatchObject({ code: 1 });
  expect(codex).toMatchObject({ code: 1 });
});

const user = '../home/.claude/settings.json';
const local = '.claude/settings.local.json';
const allow = (...rules: string[]) => ({ permissions: { allow: rules } });

test.each([
  ['no settings', {}, [], true],
  ['an empty list', { [user]: allow() }, [], true],
  ['settings that are not JSON', { [user]: '{' }, [], true],
  ['a rule in the user settings', { [user]: allow('Bash(npm test)') }, [], false],
  ['a mode in the user settings', { [user]: { permissions: { defaultMode: 'acceptEdits' } } }, [], false],
  ['a rule in an untrusted project', { '.claude/settings.json': allow('Edit') }, [], true],
  ['a rule in a trusted project', { '.claude/settings.json': allow('Edit'), trusted: true }, [], false],
  ['a local rule in a trusted project', { [local]: allow('Edit'), trusted: true }, [], false],
  ['--allow-all', {}, ['--allow-all'], false],
])('warns if edits and commands will be denied: Claude Code with %s', async (_, files, flags, denied) => {
  const project = createProject();
  project.write(
    '../bin/claude',
    `#!/bin/sh\n[ "$1" = --version ] && echo 2.0.0 && exit\necho '{ "loggedIn": true }'\n`,
  );
  chmodSync(project.path('../bin/claude'), 0o755);
  const { trusted, ...settingsFiles } = files as Record<string, unknown>;
  if (trusted)
    project.write(
      '../home/.claude.json',
      JSON.stringify({ projects: { [project.folder]: { hasTrustDialogAccepted: true } } }),
    );
  for (const [name, settings] of Object.entries(settingsFiles))
    project.write(name, typeof settings === 'string' ? settings : JSON.stringify(settings, null, 2));
  const env = { PATH: `${project.path('../bin')}:${project.env.PATH}` };

  const result = await project.start(['doctor', '--harness', 'claude', ...flags], { env }).result;

  expect(result.code).toBe(0);
  const warning =
    'warn  claude        edits and commands will be denied\n                    Fix: --allow-all, or add "Bash", "Edit", "Write" to permissions.allow in ~/.claude/settings.json, or in .claude/settings.json of a folder that Claude Code trusts\n';
  expect(result.stdout.includes(warning)).toBe(denied);
});

/** Does what the probe asks for. */
const createProbed = async (mode: AgentMode | null) => {
  const script = ({ step }: Moment) => {
    const asked = project.model.requests.at(-1)!.prompt.slice(-1000);
    const inside = /into the folder (\S+?)\. The/.exec(asked)?.[1];
    const outside = /Write a file (\/\S+)\. If/.exec(asked)?.[1];
    if (step > 0) return { text: 'Done.\n\n<promise>COMPLETE</promise>' };
    return { text: 'I write.', tools: [{ write: outside ?? `${inside}/probe.txt`, content: 'ok\n' }] };
  };
  const project = await createAgentProject('opencode', script, {}, mode);
  return project;
};

test.runIf(process.platform === 'linux')('--probe runs the real OpenCode in its default mode', async () => {
  const project = await createProbed(null);

  const result = await project.run('doctor', '--probe');

  for (const found of [
    'in warm mode: its default',
    'read a prompt of 200 KiB and printed the promise',
    'answered',
    'wrote a file',
    'wrote nothing outside the project without --allow-all',
    'the second task knew nothing of the first',
    'left nothing running',
  ])
    expect(result.stdout).toContain(`probe: ${found}`);
  expect(result.code).toBe(0);
  expect(project.model.requests[0]!.bytes).toBeGreaterThan(200 * 1024);
});

test('--probe runs the real OpenCode from prompt to promise', async () => {
  const project = await createProbed('cold');

  const result = await project.run('doctor', '--probe');

  expect(result.stdout).toContain('probe: read a prompt of 200 KiB and printed the promise');
  expect(result.stdout).toContain('probe: in cold mode: your setting');
  expect(result.stdout).toContain('probe: exit code 0');
  expect(result.stdout).toContain('probe: wrote a file');
  expect(result.stdout).toContain('probe: wrote nothing outside the project without --allow-all');
  expect(result.code).toBe(0);
  expect(project.model.requests[0]!.bytes).toBeGreaterThan(200 * 1024);
});

test('--probe prints why the agent does not work', async () => {
  // Recorded output of OpenCode. test/e2e runs the real one.
  const recorded = JSON.parse(readFileSync(join(root, 'test/fixtures/golden/opencode/unauthorised.json'), 'utf8')) as {
    readonly stdout: string;
    readonly exit: number;
  };
  const { project, env } = healthy();
  writeFileSync(join(project.home, 'answer'), recorded.stdout);
  project.write(
    '../bin/opencode',
    `#!/bin/sh\n[ "$1" = run ] || { echo '1.2.3, 1 credentials'; exit; }\ncat > /dev/null\ncat '${project.home}/answer'\nexit ${recorded.exit}\n`,
  );

  const result = await project.start(['doctor', '--probe'], { env }).result;

  expect(result.code).toBe(1);
  expect(result.stdout).toMatch(
    /^fail {2}opencode {6}probe: no such key \(HTTP 401\); sign in with "opencode auth login"/m,
  );
});

test('the suggested command for a repository that git rejects is quoted for the shell', async () => {
  const { project, env } = healthy({ files: { "it's/a.txt": '' } });
  const refusing = { ...env, GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' };

  const { stdout } = await project.start(['doctor'], { cwd: "it's", env: refusing }).result;

  expect(stdout).toContain(String.raw`safe.directory '${project.folder}/it'\''s'`);
});
