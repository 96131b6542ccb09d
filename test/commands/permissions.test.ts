import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAcpProject } from '../support/acp.ts';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

const once = ['ralph', '--change', change, '--max-iterations', '1'];
const config = '.spool/config.json';

const withRules = (permissions: object, untrusted = false) =>
  createProject({ agent: [promise], untrusted, files: { [config]: JSON.stringify({ permissions }) } });

/** The configuration that the scripted OpenCode was started with. */
const configOf = (project: { home: string }): unknown => {
  const env = readFileSync(join(project.home, 'agent/call-1/env'), 'utf8');
  const [, json = 'null'] = /^OPENCODE_CONFIG_CONTENT=(.*)$/m.exec(env) ?? [];
  return JSON.parse(json);
};

test('an agent is told the rules of the config file and of flags, and the run says which it cannot be told', async () => {
  const project = withRules({ allow: ['Bash(npm:*)'], deny: ['Bash(git push:*)', 'Delete(src/**)'] });

  const result = await project.spool(...once, '--agent-mode', 'cold', '--deny', 'Edit(.env)', '--allow', 'Read(*.x)');

  expect(result).toMatchObject({ code: 0 });
  expect(result.stderr).toContain(
    'OpenCode has no equivalent for these permission rules, so they do not apply to it: Delete(src/**).',
  );
  expect(configOf(project)).toMatchObject({
    permission: {
      bash: { 'npm *': 'allow', 'git push *': 'deny' },
      edit: { '.env': 'deny' },
      read: { '*.x': 'allow' },
    },
  });
});

test('with --allow-all only what is denied is passed on', async () => {
  const project = withRules({ allow: ['Bash(npm:*)', 'Delete'], deny: ['Bash(git push:*)'] });

  const result = await project.spool(...once, '--agent-mode', 'cold', '--allow-all');

  expect(result).toMatchObject({ code: 0 });
  expect(result.stderr).not.toContain('cannot be told');
  expect(configOf(project)).toMatchObject({ permission: { bash: { 'git push *': 'deny' } } });
  expect(JSON.stringify(configOf(project))).not.toContain('npm');
});

test('rules of a project that allow something need trust, rules that deny something do not', async () => {
  const greedy = withRules({ allow: ['Bash'] }, true);
  const result = await greedy.spool(...once);
  expect(result).toMatchObject({ code: 2 });
  expect(result.stderr).toContain('config.json permissions.allow  Bash');

  const careful = withRules({ deny: ['Bash(git push:*)'] }, true);
  expect(await careful.spool(...once)).toMatchObject({ code: 0 });

  // Setting it is trusting it.
  await greedy.spool('config', 'set', 'permissions.allow', 'Bash(npm test:*)');
  expect(greedy.read(config)).toContain('"allow": ["Bash(npm test:*)"]');
  expect(await greedy.spool(...once)).toMatchObject({ code: 0 });
});

test('an invalid rule is named, with what is wrong with it', async () => {
  const project = withRules({ allow: ['Edit(src/**)', 'Write(src/**)'] });
  expect((await project.spool(...once)).stderr).toContain(
    'the rule "Write(src/**)" in "permissions.allow" has an unknown name "Write" (did you mean "Edit"?)',
  );
  project.write(config, '{}');
  const flag = await project.spool(...once, '--deny', 'Edit(/etc)');
  expect(flag).toMatchObject({ code: 2 });
  expect(flag.stderr).toContain('--deny: the rule "Edit(/etc)" is ambiguous: write Edit(etc) for the project');
});

test.runIf(process.platform === 'linux')('an agent that asks is answered by the rules', async () => {
  const project = createAcpProject({ turns: ['permission'] });
  const warm = [...once, '--agent-mode', 'warm'];

  const denied = await project.spool(...warm);
  await project.spool(...warm, '--fresh', '--allow', 'Edit(//etc/spool-test)');
  await project.spool(...warm, '--fresh', '--allow-all');
  const forbidden = await project.spool(...warm, '--fresh', '--allow-all', '--deny', 'Edit(//etc/**)');

  const answers = project.seen().flatMap(({ permission }) => (permission ? [permission] : []));
  expect(answers).toEqual(
    ['reject_once', 'allow_once', 'allow_once', 'reject_once'].map((optionId) => ({ outcome: 'selected', optionId })),
  );
  expect(denied.stderr).toContain('add "Edit(//etc/spool-test)" to "permissions.allow" in .spool/config.json');
  expect(project.history()[0]).toMatchObject({
    denied: { message: expect.stringContaining('Edit(//etc/spool-test)') },
  });
  expect(forbidden.stderr).not.toContain('permissions.allow');
});
