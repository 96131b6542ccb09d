import { chmodSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

const limit = { type: 'error', error: { name: 'APIError', data: { message: 'usage limit reached', statusCode: 429 } } };

const withClaude = (opencode: string, claude: string) => {
  const project = createProject({ agent: [opencode] });
  project.write('../bin/claude', `#!/bin/sh\ncat > /dev/null\necho "$@" > claude.args\n${claude}\n`);
  chmodSync(project.path('../bin/claude'), 0o755);
  return { project, env: { PATH: `${project.path('../bin')}:${project.env.PATH}` } };
};

test('the next agent takes over at a usage limit, and history records which agent ran', async () => {
  const { project, env } = withClaude(`echo '${JSON.stringify(limit)}'; exit 1`, `touch made.txt; ${promise}`);

  const args = ['ralph', '--change', change, '--harness', 'opencode:a/b,claude:opus'];
  const result = await project.start(args, { env }).result;

  expect(result.code).toBe(0);
  expect(result.stderr).toContain('  Agent    OpenCode · a/b · fallback: Claude Code · opus · own permission rules\n');
  expect(result.stderr).toContain('\nOpenCode: usage limit reached (HTTP 429). Falling back to Claude Code.\n');
  expect(result.stderr).toContain('Iteration 1/50, Claude Code');
  expect(project.read('claude.args')).toContain('--model=opus');
  expect(project.history()).toMatchObject([
    {
      iteration: 1,
      harness: 'claude',
      model: 'opus',
      completionFound: true,
      deferred: [{ harness: 'opencode', model: 'a/b', error: { kind: 'rate-limit' } }],
    },
  ]);
  expect(project.state()).toMatchObject({ harness: 'claude', model: 'opus' });
});

test('an agent that is not installed is reported, and the next one is used', async () => {
  const { project, env } = withClaude('exit 9', promise);

  const result = await project.start(['ralph', '--change', change, '--harness', 'codex, claude', '--model', 'opus'], {
    env,
  }).result;

  expect(result.stderr).toContain('codex is not on PATH. Install it with: npm install -g @openai/codex');
  expect(result.code).toBe(0);
  expect(project.history()).toMatchObject([{ harness: 'claude', model: 'opus', completionFound: true }]);
});

test('the run fails before it starts if no agent is installed', async () => {
  const project = createProject({ agent: [promise] });

  const result = await project.spool('ralph', '--change', change, '--harness', 'codex,gemini');

  expect(result).toMatchObject({ code: 1, stdout: '' });
  expect(result.stderr).toMatch(/^spool: codex is not on PATH\..* --agent with one of: opencode\)\n$/);
  expect(project.exists('.spool/.state')).toBe(false);
});

test('a resumed run keeps its agents', async () => {
  const { project, env } = withClaude(
    'exit 9',
    `[ -e again ] && ${promise} && exit; touch again; kill -INT $PPID; sleep 5`,
  );

  const first = await project.start(['ralph', '--change', change, '--harness', 'claude:opus'], { env }).result;
  expect(first.code).toBe(130);
  // Even if the default agent is not installed.
  const bare = { PATH: env.PATH.replace(/[^:]*fixtures\/bin:/, '') };
  expect(await project.start(['ralph', '--change', change], { env: bare }).result).toMatchObject({ code: 0 });

  expect(project.history().at(-1)).toMatchObject({ harness: 'claude', model: 'opus', completionFound: true });
});
