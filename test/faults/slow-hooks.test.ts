import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commitFiles } from '../../src/git/commit.ts';
import { findWorkTree } from '../../src/git/work-tree.ts';
import { promise } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const run = ['ralph', '--change', change];

const hook = (project: TestProject, script: string): void => {
  project.write('.git/hooks/pre-commit', `#!/bin/sh\n${script}\n`);
  chmodSync(project.path('.git/hooks/pre-commit'), 0o755);
};

const waiting = 'Committing: a hook or the signing program is still running. It is ended after 10m.';

test('while a hook takes long, the status line and spool status say that Spool is committing', async () => {
  const project = createProject({ agent: [`echo w > w.txt; ${promise}`] });
  hook(project, 'until [ -e "$HOME/go" ]; do sleep 0.01; done');
  const terminal = openTerminal(project, run);

  await eventually(() => terminal.lines().some((line) => /^ *\S* ?Committing… \d/.test(line.text)), 'the status line');
  const { stdout } = await project.spool('status', change);
  project.write('../home/go', '');

  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`Now ${waiting}`);
  expect(await terminal.exitCode).toBe(0);
  expect(project.git('ls-tree', '--name-only', 'HEAD')).toContain('w.txt');
});

test('a hook that is fast is not announced', async () => {
  const project = createProject({ agent: [`echo w > w.txt; ${promise}`] });
  hook(project, 'true');

  expect((await project.spool(...run)).stderr).not.toContain('Committing');
});

test('a commit whose hook exceeds the time limit is given up, and nothing of it is left', async () => {
  const project = createProject();
  const found = await findWorkTree(project.folder, join(project.home, 'index'));
  if (found.kind !== 'found') throw new Error('no work tree');
  // This process calls git itself, without the environment of the project.
  project.git('config', 'user.name', 'Somebody');
  project.git('config', 'user.email', 'somebody@example.com');
  project.write('w.txt', 'w\n');
  project.git('add', 'w.txt');
  const treeId = project.git('write-tree');
  const head = project.git('rev-parse', 'HEAD');
  const mark = `HOOK_OF=${project.folder}`;
  hook(project, `touch .git/hook-ran; ${mark} exec sleep 300`);

  const result = await commitFiles(found.tree, {
    names: ['w.txt'],
    treeId,
    message: async () => 'w',
    kill: new AbortController().signal,
    tag: 'test',
    sandbox: null,
    maxMs: 2000,
  });

  const why = 'a hook or the signing program was still running after 2s, so the commit was given up';
  expect(result).toEqual({ kind: 'refused', why });
  expect(project.git('rev-parse', 'HEAD')).toBe(head);
  expect(project.exists('.git/index.lock')).toBe(false);
  expect(project.exists('.git/hook-ran')).toBe(true);
  await eventually(() => processesWith(mark).length === 0, 'the end of the hook');
});
