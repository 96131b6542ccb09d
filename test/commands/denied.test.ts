import { chmodSync } from 'node:fs';
import { expect, test } from 'vitest';
import { change, createProject } from '../support/project.ts';

const run = ['ralph', '--change', change, '--retry-delay', '1ms'];

/** An agent that prints these events. `echo` would interpret their escapes. */
const prints = (...events: readonly object[]) =>
  events.map((event) => `printf '%s\\n' '${JSON.stringify(event)}'`).join('\n');

const step = { type: 'step_start' };
const finish = (reason: string) => ({ type: 'step_finish', part: { reason } });
const text = (words: string) => ({ type: 'text', part: { text: words } });
const tool = (name: string, error: string) => ({
  type: 'tool_use',
  part: { tool: name, state: { status: 'error', error } },
});
const forbidden = tool('bash', 'The user has specified a rule which prevents you from using this specific tool call.');
const rejected = tool('write', 'The user rejected permission to use this specific tool call.');
const done = 'All tests pass.\n\n<promise>COMPLETE</promise>';
const asks = `echo '! permission requested: external_directory (/x/*); auto-rejecting' >&2`;

test('a promise counts if the agent was denied a tool, found another way and finished', async () => {
  const project = createProject({
    agent: [prints(step, forbidden, finish('tool-calls'), step, text(done), finish('stop'))],
  });

  const result = await project.spool(...run);

  expect(result).toMatchObject({ code: 0 });
  expect(result.stdout).toContain('  ! bash denied\n');
  expect(result.stdout).not.toContain('bash failed');
  expect(result.stderr).toMatch(/^\S+ Iteration 1: Promise accepted · .* · denied: bash$/m);
  expect(project.history()).toMatchObject([
    {
      completionFound: true,
      rejected: null,
      error: null,
      denied: {
        tools: ['bash'],
        message: `OpenCode isn't allowed to use bash; add "Bash" to "permissions.allow" in .spool/config.json`,
      },
    },
  ]);
});

test.each([
  ['before', (events: string) => `${asks}\n${events}`],
  ['after', (events: string) => `${events}\n${asks}`],
])('the result is the same if stderr comes %s stdout', async (_, mixed) => {
  const finished = prints(step, rejected, finish('tool-calls'), step, text(done), finish('stop'));
  const project = createProject({ agent: [mixed(prints(step, rejected, finish('tool-calls'))), mixed(finished)] });

  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  const denied = { tools: ['external_directory'] };
  expect(project.history()).toMatchObject([
    { completionFound: false, error: { kind: 'permission' }, denied },
    { completionFound: true, error: null, denied },
  ]);
  expect(project.calls()[1]!.prompt).toContain('You are not allowed to use external_directory.');
});

test('a tool that is denied twice in a row without progress blocks the run and names the setting to change', async () => {
  const project = createProject({ agent: [`${asks}\n${prints(step, rejected, finish('tool-calls'))}`] });

  const result = await project.spool(...run, '--verify', 'true');

  expect(result).toMatchObject({ code: 4 });
  const detail = `OpenCode isn't allowed to use external_directory; run with --allow-all, or add "Edit(//x)" to "permissions.allow" in .spool/config.json`;
  expect(result.stderr).toContain(`Blocked: ${detail}.\n`);
  expect(result.stderr).toMatch(/Try again {3}spool ralph \S+ --resume --allow-all$/m);
  expect(project.history()).toHaveLength(2);
  expect(project.state()).toMatchObject({ status: 'blocked', cause: 'denied', detail, allowAllHelps: true });

  // With the flag, only the setting is suggested.
  const again = await project.spool(...run, '--allow-all');
  expect(again).toMatchObject({ code: 4 });
  expect(project.state()).toMatchObject({ cause: 'denied', allowAllHelps: false });
  expect(again.stderr).toContain(
    `Blocked: OpenCode isn't allowed to use external_directory; add "Edit(//x)" to "permissions.allow" in .spool/config.json.\n`,
  );
});

test('an agent that only prints text after each denial is blocked, and one that makes progress is not', async () => {
  const project = createProject({
    agent: [
      `echo 1 > work.txt; ${prints(step, forbidden, finish('tool-calls'), step, text('I could not test it.'), finish('stop'))}`,
      prints(step, forbidden, finish('tool-calls'), step, text('I could not test it.'), finish('stop')),
    ],
  });

  const result = await project.spool(...run);

  expect(result).toMatchObject({ code: 4 });
  expect(result.stderr).toContain(
    `Blocked: OpenCode isn't allowed to use bash; add "Bash" to "permissions.allow" in .spool/config.json.\n`,
  );
  // No flag overrides the rule, so none is suggested.
  expect(result.stderr).toMatch(/Try again {3}spool ralph \S+ --resume$/m);
  expect(project.history()).toMatchObject([{ error: null }, { error: null }, { error: null }]);
});

test('Claude Code without permissions is blocked after two iterations', async () => {
  const project = createProject();
  const id = 'toolu_1';
  const events = [
    { type: 'system', subtype: 'init' },
    {
      type: 'assistant',
      message: { content: [{ type: 'tool_use', id, name: 'Bash', input: { command: 'npm test' } }] },
    },
    { type: 'system', subtype: 'permission_denied', tool_name: 'Bash', tool_use_id: id },
    { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: id, is_error: true }] } },
    { type: 'assistant', message: { content: [{ type: 'text', text: 'I need your approval.' }] } },
    {
      type: 'result',
      subtype: 'success',
      is_error: false,
      permission_denials: [{ tool_name: 'Bash', tool_use_id: id }],
    },
  ];
  project.write('../bin/claude', `#!/bin/sh\ncat > /dev/null\n${prints(...events)}\n`);
  chmodSync(project.path('../bin/claude'), 0o755);
  const env = { PATH: `${project.path('../bin')}:${project.env.PATH}` };

  const result = await project.start([...run, '--harness', 'claude'], { env }).result;

  expect(result).toMatchObject({ code: 4 });
  expect(result.stderr).toContain(
    `Blocked: Claude Code isn't allowed to use Bash; run with --allow-all, or add "Bash(npm test)" to "permissions.allow" in .spool/config.json.\n`,
  );
  expect(result.stderr).toMatch(/Try again {3}spool ralph \S+ --resume --allow-all$/m);
  expect(result.stdout.match(/ ! Bash denied/g)).toHaveLength(2);
  expect(project.history()).toMatchObject([{ error: null, denied: { tools: ['Bash'] } }, { error: null }]);
});
