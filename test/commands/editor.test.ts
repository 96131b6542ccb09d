import { chmodSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { createProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const change = '000-01_add-x';
const proposal = `.spool/changes/${change}/proposal.md`;

/** A project, and an editor outside of it that adds a line to a file. Its arguments are in the file `edited`. */
const withEditor = () => {
  const project = createProject({ agent: [promise] });
  const editor = (name: string, script: string) => {
    project.write(name, `#!/bin/sh\n${script}\n`);
    chmodSync(project.path(name), 0o755);
    return project.path(name);
  };
  const path = editor(
    '../bin/edit',
    `echo "$@" >> '${project.home}/edited'; for file; do :; done; echo Text >> "$file"`,
  );
  return { project, editor, path };
};

test('spool create change --edit opens the proposal in VISUAL, or else in EDITOR', async () => {
  const { project, path } = withEditor();
  const env = { VISUAL: `${path} --wait`, EDITOR: 'false' };
  const terminal = openTerminal(project, ['create', 'change', 'add-x', '--edit'], { env });

  expect(await terminal.exitCode).toBe(0);
  expect(project.read('../home/edited')).toBe(`--wait ${project.path(proposal)}\n`);
  expect(project.read(proposal)).toMatch(/Text\n$/);
  expect(terminal.screen()).toContain(`Next: spool ralph ${change}`);

  const other = openTerminal(project, ['create', 'change', 'add-y', '--edit'], { env: { EDITOR: path } });
  expect(await other.exitCode).toBe(0);
  expect(project.read('.spool/changes/000-02_add-y/proposal.md')).toMatch(/Text\n$/);
});

test.each([
  ['no terminal', { EDITOR: 'true' }, 'there is no terminal'],
  ['no editor', {}, 'neither VISUAL nor EDITOR is set'],
  ['an editor that fails', { EDITOR: 'exit 3;' }, 'exit 3; failed (exit code 3)'],
])('--edit with %s creates the change and says why it opens nothing', async (name, env, why) => {
  const project = createProject();
  const args = ['create', 'change', 'add-x', '--edit'];
  const line = `No editor for ${proposal}: ${why}.`;
  if (name === 'no terminal') {
    const { code, stderr } = await project.start(args, { env }).result;
    expect({ code, stderr }).toEqual({ code: 0, stderr: `${line}\n` });
  } else {
    const terminal = openTerminal(project, args, { env, columns: 120 });
    expect(await terminal.exitCode).toBe(0);
    expect(terminal.screen()).toContain(line);
  }
  expect(project.exists(proposal)).toBe(true);
});

test('spool ralph offers to edit a proposal that is still the template, and runs the change', async () => {
  const { project, path } = withEditor();
  await project.spool('create', 'change', 'add-x');
  const env = { EDITOR: path };

  const declined = openTerminal(project, ['ralph', change], { env, columns: 200 });
  await declined.shows(`${proposal} is still the empty template. Open it with ${path}?`);
  declined.type('n');
  expect(await declined.exitCode).toBe(2);
  expect(declined.screen()).toContain('is still the empty template. Edit it, or pass a prompt');
  expect(project.calls()).toHaveLength(0);

  const agreed = openTerminal(project, ['ralph', change], { env, columns: 200 });
  await agreed.shows('Open it with');
  agreed.type('y');
  expect(await agreed.exitCode).toBe(0);
  expect(project.calls()[0]!.prompt).toContain('Text');
});

test.each([
  ['without an editor', ['ralph', change], {}],
  ['with --no-interactive', ['ralph', change, '--no-interactive'], { EDITOR: 'true' }],
  ['in CI', ['ralph', change], { EDITOR: 'true', CI: 'true' }],
])('spool ralph asks nothing about a template %s', async (_, args, env) => {
  const project = createProject();
  await project.spool('create', 'change', 'add-x');
  expect(await openTerminal(project, args, { env }).exitCode).toBe(2);
});

test('an editor of the project is not used', async () => {
  const { project, editor } = withEditor();
  editor('node_modules/.bin/edit-here', 'echo planted > planted');
  const env = { EDITOR: 'edit-here', PATH: `${project.path('node_modules/.bin')}:${project.env.PATH}` };
  const terminal = openTerminal(project, ['create', 'change', 'add-x', '--edit'], { env });

  expect(await terminal.exitCode).toBe(0);
  expect(terminal.screen()).toContain('edit-here failed (exit code 127)');
  expect(project.exists('planted')).toBe(false);
});
