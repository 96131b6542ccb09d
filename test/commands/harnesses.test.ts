import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

/** Writes an executable and returns a PATH that starts with its folder. */
const withBinary = (project: TestProject, name: string, script: string) => {
  project.write(`../bin/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(project.path(`../bin/${name}`), 0o755);
  return { PATH: `${project.path('../bin')}:${project.env.PATH}` };
};

test('spool harnesses lists all agents and which of them are installed', async () => {
  const project = createProject({
    files: { '.spool/config.json': '{ "harnesses": { "mine": { "command": "mine" } } }' },
  });
  const env = withBinary(project, 'claude', 'echo "9.9.9 (Claude Code)"');

  const list = await project.start(['harnesses'], { env }).result;
  expect(list).toMatchObject({ code: 0, stderr: '' });
  expect(list.stdout).toMatch(/^claude +9\.9\.9 \(Claude Code\) +cold +cli +text, tools, tokens, cost, denials +-$/m);
  expect(list.stdout).toMatch(/^codex +no +cold +cli +text, tools, tokens +npm install -g @openai\/codex$/m);
  expect(list.stdout).toMatch(/^mine \(custom: mine\) +no/m);
  expect(list.stdout.match(/^\S+ \(default\)/gm)).toEqual(['opencode (default)']);
  const chosen = await project.start(['agents'], { env: { ...env, SPOOL_HARNESS: 'claude:some/model,mine' } }).result;
  expect(chosen.stdout.match(/^\S+ \(default\)/gm)).toEqual(['claude (default)']);

  const found = JSON.parse((await project.start(['harnesses', '--json'], { env }).result).stdout) as {
    name: string;
    path: string;
  }[];
  expect(found.find(({ name }) => name === 'claude')).toMatchObject({
    path: project.path('../bin/claude'),
    version: '9.9.9 (Claude Code)',
    default: false,
    protocols: ['cli'],
    modes: ['cold'],
  });
  expect(found.find(({ name }) => name === 'opencode')).toMatchObject({
    protocols: ['cli', 'acp'],
    modes: ['cold', 'standby', 'warm'],
  });
});

test.runIf(process.platform === 'linux')(
  'spool agents shows what an agent reports in the mode that would be used',
  async () => {
    const project = createProject();
    const reports = async (mode: string) => {
      const { stdout } = await project.start(['agents', '--json'], { env: { SPOOL_AGENT_MODE: mode } }).result;
      const found = JSON.parse(stdout) as { name: string; mode: string; capabilities: string[] }[];
      return Object.fromEntries(found.map(({ name, mode: used, capabilities }) => [name, [used, ...capabilities]]));
    };

    const [usual, cold] = [await reports(''), await reports('cold')];

    for (const name of ['copilot', 'gemini', 'qwen'])
      expect(usual[name]).toEqual(['warm', 'text', 'tools', 'tokens', 'denials']);
    expect(cold).toMatchObject({
      copilot: ['cold', 'text', 'tools', 'denials'],
      gemini: ['cold', 'text', 'tools', 'tokens'],
      qwen: ['cold', 'text', 'tools', 'tokens'],
    });
    const { stdout } = await project.start(['agents'], { env: { SPOOL_AGENT_MODE: '' } }).result;
    expect(stdout).toMatch(/^copilot .* text, tools, tokens, denials /m);
  },
);

test('spool agents fits the terminal', async () => {
  const terminal = openTerminal(createProject(), ['agents'], { columns: 50 });
  expect(await terminal.exitCode).toBe(0);
  expect(terminal.lines().map(({ rows }) => rows)).toEqual(Array.from({ length: 14 }, () => 1));
});

test.each([
  ['stdin', { args: ['go', '--with', '{model}'] }, ['go', '--with', 'a/b']],
  ['argument', { prompt: 'argument', args: ['--ask={prompt}'] }, ['--ask=# Ralph Wiggum Loop - Iteration 1']],
  [
    'file',
    { prompt: 'file', args: ['--from', '{promptFile}'] },
    ['--from', expect.stringMatching(/0001\.prompt\.md$/)],
  ],
])('a custom agent receives its prompt by %s', async (_, declared, expected) => {
  const config = JSON.stringify({ harnesses: { mine: { command: 'mine', allowAllArgs: ['--yes'], ...declared } } });
  const project = createProject({ files: { '.spool/config.json': config } });
  const env = withBinary(
    project,
    'mine',
    `cat > stdin.txt; for arg in "$@"; do echo "$arg" | head -1; done > args.txt; ${promise}`,
  );

  const result = await project.start(
    ['ralph', '--change', change, '--harness', 'mine', '--model', 'a/b', '--allow-all'],
    { env },
  ).result;

  expect(result.code).toBe(0);
  expect(project.read('args.txt').trimEnd().split('\n')).toEqual([...expected, '--yes']);
  expect(project.read('stdin.txt').startsWith('# Ralph')).toBe(_ === 'stdin');
  expect(project.history()).toMatchObject([{ harness: 'mine', completionFound: true, usage: null, tools: null }]);
});

test('arguments with {model} are omitted without a model, and another decoder can be chosen', async () => {
  const declared = { command: 'mine', args: ['--model', '{model}', '--deep'], decoder: 'claude' };
  const project = createProject({
    files: { '.spool/config.json': JSON.stringify({ harness: 'mine', harnesses: { mine: declared } }) },
  });
  const message = { type: 'assistant', message: { content: [{ type: 'text', text: '<promise>COMPLETE</promise>' }] } };
  const end = { type: 'result', is_error: false, usage: { input_tokens: 7, output_tokens: 3 }, total_cost_usd: 0.5 };
  const script = `echo "$@" > args.txt; echo '${JSON.stringify(message)}'; echo '${JSON.stringify(end)}'`;

  expect(
    await project.start(['ralph', '--change', change], { env: withBinary(project, 'mine', script) }).result,
  ).toMatchObject({ code: 0 });

  expect(project.read('args.txt')).toBe('--deep\n');
  expect(project.history()).toMatchObject([
    { usage: { inputTokens: 7, outputTokens: 3, costUsd: 0.5, reasoningTokens: null } },
  ]);
});

test('usage is summed over all iterations and printed', async () => {
  const project = createProject();
  const step = { type: 'step_finish', part: { reason: 'stop', tokens: { input: 1500, output: 100 }, cost: 0.25 } };
  const script = `echo '${JSON.stringify(step)}'; [ -e once ] && echo '{"type":"text","part":{"text":"<promise>COMPLETE</promise>"}}'; touch once; exit 0`;

  const result = await project.start(['ralph', '--change', change], { env: withBinary(project, 'opencode', script) })
    .result;

  expect(result.code).toBe(0);
  expect(result.stderr).toMatch(/^\S+ Iteration 1: .* · \$0\.25$/m);
  expect((await project.spool('ralph', '--status', '--change', change)).stdout).toContain(
    'Spent       3,000 tokens in, 200 out, $0.50',
  );
  const [listed] = JSON.parse((await project.spool('list', '--json')).stdout) as { lastRun: { usage: object } }[];
  expect(listed!.lastRun.usage).toMatchObject({
    inputTokens: 3000,
    outputTokens: 200,
    costUsd: 0.5,
    cacheReadTokens: null,
  });
});

test('an agent does not inherit the session variables of another agent', async () => {
  const project = createProject({ agent: [promise] });

  await project.start(['ralph', '--change', change], {
    env: { CLAUDECODE: '1', GEMINI_CLI: '1', ANTHROPIC_API_KEY: 'kept' },
  }).result;

  const { env } = project.calls()[0]!;
  expect(env).toMatchObject({ ANTHROPIC_API_KEY: 'kept', SPOOL_ITERATION: expect.stringMatching(/\/1$/) as string });
  expect(env).not.toHaveProperty('CLAUDECODE');
  expect(env).not.toHaveProperty('GEMINI_CLI');
});

test.each([
  ['1.17.11', '--dangerously-skip-permissions'],
  ['1.18.33', '--auto'],
  ['build 9', '--auto'],
])('OpenCode %s gets all permissions with %s', async (version, flag) => {
  // The file is the same, so its version is not read again.
  const project = createProject({ agent: ['echo 0.0.1 > "$HOME/agent/version"', promise] });
  writeFileSync(join(project.home, 'agent', 'version'), version);

  await project.spool('ralph', '--change', change, '--allow-all', '--retry-delay', '1ms');

  for (const { args } of project.calls()) expect(args.at(-1)).toBe(flag);
  expect(project.calls()).toHaveLength(2);
});

test('a command with a slash is a file in the project, even from a subfolder', async () => {
  const project = createProject({
    files: { '.spool/config.json': '{ "harnesses": { "mine": { "command": "./bin/mine" } } }', 'sub/a.txt': '' },
  });
  project.write('bin/mine', `#!/bin/sh\n${promise}\n`);
  chmodSync(project.path('bin/mine'), 0o755);
  project.trust();

  const args = ['ralph', '--change', change, '--harness', 'mine'];
  expect(await project.start(args, { cwd: 'sub' }).result).toMatchObject({ code: 0 });
});

test('text that a custom agent prints after the promise is known, or declared as its trailer', async () => {
  const config = { harnesses: { mine: { command: 'mine' }, other: { command: 'mine', trailer: ['bye from'] } } };
  const project = createProject({ files: { '.spool/config.json': JSON.stringify(config) } });
  const run = (harness: string, last: string) => {
    const words = `echo 'All is done.'; ${promise}; echo; echo 'Tokens used: 1,234'; echo '${last}'`;
    const env = withBinary(project, 'mine', words);
    return project.start(['ralph', '--change', change, '--harness', harness, '--max-iterations', '1'], { env }).result;
  };

  expect(await run('mine', 'Session saved to x.json')).toMatchObject({ code: 0 });
  expect(await run('mine', 'bye from mine')).toMatchObject({ code: 3 });
  expect(await run('other', 'bye from mine')).toMatchObject({ code: 0 });
  expect(await run('other', 'Task two is not done.')).toMatchObject({ code: 3 });
  expect(project.history().at(-1)).toMatchObject({
    rejected: 'the agent had more to say after it (if its CLI printed that, set "trailer" for the harness)',
  });
});

test('output of a custom agent that looks like another agent is not decoded as that agent', async () => {
  const config = { harnesses: { mine: { command: 'mine', decoder: 'opencode' } } };
  const project = createProject({ files: { '.spool/config.json': JSON.stringify(config) } });
  const refused = {
    type: 'tool_use',
    part: { tool: 'bash', state: { status: 'error', error: 'rejected permission' } },
  };
  const lines = [{ type: 'step_start' }, refused].map((line) => `echo '${JSON.stringify(line)}'`).join('\n');
  const env = withBinary(project, 'mine', lines);

  const args = ['ralph', '--change', change, '--harness', 'mine', '--fail-fast'];
  expect(await project.start(args, { env }).result).toMatchObject({ code: 1 });
  expect(project.history()).toMatchObject([
    { error: { kind: 'permission', message: "mine isn't allowed to use bash; run with --allow-all" } },
  ]);
});

test("--verbose prints why a mention of the promise does not count, and the agent's reasoning", async () => {
  const words = 'I will print <promise>COMPLETE</promise> when it is done.';
  const lines = [
    { type: 'reasoning', part: { text: 'What now?' } },
    { type: 'text', part: { text: words } },
  ];
  const project = createProject({ agent: [lines.map((line) => `echo '${JSON.stringify(line)}'`).join('\n')] });

  const args = ['ralph', '--change', change, '--max-iterations', '1'];
  const plain = await project.spool(...args);
  const verbose = await project.spool(...args, '--verbose');

  const why = 'it was in the middle of a sentence';
  const mention = 'I will print <promise>COMPLETE</promise>';
  expect(plain.stderr).not.toContain('Ignored,');
  expect(plain.stdout).not.toContain('What now?');
  expect(verbose.stderr).toContain(`  Ignored, ${why}: ${mention}\n`);
  expect(verbose.stdout).toContain('What now?');
  expect(project.history()).toMatchObject([{}, { mentions: [{ words: mention, why }] }]);
});
