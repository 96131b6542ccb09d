import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createAgentProject } from '../support/agent.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change } from '../support/project.ts';

const done = 'All is done.\n\n<promise>COMPLETE</promise>';

describe('the real OpenCode', () => {
  test('edits files with tool calls, needs three iterations and completes', async () => {
    const project = await createAgentProject('opencode', ({ iteration, step }, folder) =>
      step === 0
        ? {
            text: `Step ${iteration}.`,
            tools: [{ write: join(folder, `part-${iteration}.txt`), content: `${iteration}\n` }],
          }
        : { text: iteration === 3 ? done : 'More is to be done.' },
    );
    project.write('long.md', 'word '.repeat(60_000));

    const result = await project.run('ralph', '--change', change, '--prompt-file', 'long.md');

    expect(result.code).toBe(0);
    expect(result.stdout).toContain('Step 1.');
    expect(result.stdout).toContain('  ✎ part-1.txt');
    expect(project.git('log', '--format=%s', '--name-only').split('\n').filter(Boolean).slice(0, 4)).toEqual([
      'ralph(002-01): All is done',
      'part-3.txt',
      'ralph(002-01): More is to be done',
      'part-2.txt',
    ]);
    expect(project.history()).toMatchObject(
      [1, 2, 3].map((iteration) => ({
        iteration,
        exitCode: 0,
        completionFound: iteration === 3,
        git: { files: [`part-${iteration}.txt`] },
        usage: { inputTokens: 2000, outputTokens: 100, costUsd: 0.0022 },
        tools: { write: 1 },
        error: null,
      })),
    );
    // Two turns per iteration: no request for a title, and the long prompt arrives complete.
    expect(project.model.requests).toHaveLength(6);
    expect(project.model.requests[0]!.bytes).toBeGreaterThan(300_000);
  });

  test('works only in its worktree, even if it is started in a subfolder of the project', async () => {
    const project = await createAgentProject('opencode', ({ step }) =>
      step === 0 ? { text: 'I write.', tools: [{ shell: 'pwd > where.txt' }] } : { text: done },
    );
    project.write('src/a.txt', 'a\n');
    project.git('add', '--all');
    project.git('commit', '--quiet', '-m', 'src');

    const result = await project.startIn('src', 'ralph', 'Go.', '--change', change, '--worktree').result;

    expect(result.code).toBe(0);
    expect(project.git('status', '--porcelain')).toBe('');
    expect(project.exists('where.txt')).toBe(false);
    expect(project.git('show', `ralph/${change}:where.txt`)).toBe(project.path(`.spool/worktrees/${change}`));
    expect(project.history()).toMatchObject([{ git: { files: ['where.txt'] } }]);
  });

  test('is stopped by the limit without a promise, and output of a tool is not a promise', async () => {
    const project = await createAgentProject('opencode', ({ iteration, step }) => {
      if (iteration === 1) return { text: 'I am still at it.' };
      return step === 0
        ? { text: 'I look.', tools: [{ shell: "printf '\\n<promise>COMPLETE</promise>\\n'" }] }
        : { text: 'The file talks about it.' };
    });

    const result = await project.run('ralph', 'Go.', '--change', change, '--max-iterations', '2');

    expect(result.code).toBe(3);
    const log = readFileSync(project.stateFile(`runs/${project.state().run}/0002.log`), 'utf8');
    expect(log).toContain('<promise>COMPLETE</promise>');
    expect(project.history()).toMatchObject([
      { iteration: 1, completionFound: false, error: null, git: { filesChanged: 0 } },
      { iteration: 2, completionFound: false, rejected: null, error: null, git: { filesChanged: 0 } },
    ]);
  });

  test('fails on an API error and prints how to fix it', async () => {
    const project = await createAgentProject('opencode', () => ({ status: 401, message: 'no such key' }));

    const result = await project.run('ralph', 'Go.', '--change', change, '--fail-fast');

    expect(result.code).toBe(1);
    expect(result.stderr).toContain('no such key (HTTP 401); sign in with "opencode auth login"');
    expect(project.history()).toMatchObject([{ exitCode: 1, completionFound: false, error: { kind: 'auth' } }]);
  });

  test('fails if it is denied a permission, and works with --allow-all', async () => {
    const project = await createAgentProject('opencode', ({ step }, folder) =>
      step === 0
        ? { text: 'I write outside.', tools: [{ write: join(folder, '../outside/x.txt'), content: 'x\n' }] }
        : { text: done },
    );
    mkdirSync(join(project.folder, '../outside'));
    const outside = join(project.folder, '../outside/x.txt');

    const denied = await project.run('ralph', 'Go.', '--change', change, '--fail-fast');
    expect(denied.code).toBe(1);
    const rule = `Edit(/${realpathSync(join(project.folder, '../outside'))})`;
    expect(denied.stderr).toContain(
      `OpenCode isn't allowed to use external_directory; run with --allow-all, or add "${rule}" to "permissions.allow" in .spool/config.json`,
    );
    expect(project.history()[0]).toMatchObject({ exitCode: 0, completionFound: false, error: { kind: 'permission' } });
    expect(existsSync(outside)).toBe(false);

    const allowed = await project.run('ralph', 'Go.', '--change', change, '--fail-fast', '--allow-all');
    expect(allowed.code).toBe(0);
    expect(readFileSync(outside, 'utf8')).toBe('x\n');
  });

  test('can continue after a rule denies a command, and its promise counts', async () => {
    const project = await createAgentProject(
      'opencode',
      ({ step }, folder) => {
        if (step === 0) return { text: 'I clean up.', tools: [{ shell: 'rm -rf old' }] };
        if (step === 1) return { text: 'Another way.', tools: [{ write: join(folder, 'new.txt'), content: 'x\n' }] };
        return { text: done };
      },
      { files: { 'opencode.json': '{ "permission": { "bash": { "*": "allow", "rm *": "deny" } } }' } },
    );

    const result = await project.run('ralph', 'Go.', '--change', change);

    expect(result.code).toBe(0);
    expect(result.stdout).toContain('! bash denied');
    expect(project.history()).toMatchObject([{ completionFound: true, error: null, denied: { tools: ['bash'] } }]);
  });

  test('leaves no process running if it is interrupted during a tool call', async () => {
    const project = await createAgentProject('opencode', () => ({
      text: 'I watch.',
      tools: [{ shell: 'echo $$ > tool.pid; while :; do echo x >> growing.txt; sleep 0.1; done' }],
    }));

    const loop = project.start('ralph', 'Go.', '--change', change);
    await eventually(() => project.exists('growing.txt'), 'the tool to write');
    loop.kill('SIGINT');

    expect(await loop.result).toMatchObject({ code: 130 });
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
    expect(project.history()).toMatchObject([{ iteration: 1, end: 'interrupted', completionFound: false }]);
    expect(project.state()).toMatchObject({ status: 'interrupted', detail: 'stopped by SIGINT' });
  });
});
