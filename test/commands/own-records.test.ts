import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { change, createProject, type ProjectOptions, type TestProject } from '../support/project.ts';

/** The user's state folder in these tests, relative to the repository. */
const records = '.local/state/spool';

/** A repository that contains the user's state folder. */
const containing = (agent: readonly string[], how: 'HOME' | 'XDG_STATE_HOME', options: ProjectOptions = {}) => {
  const project = createProject({ ...options, agent });
  const env: Record<string, string> =
    how === 'HOME'
      ? { HOME: project.folder, GIT_CONFIG_GLOBAL: join(project.home, '.gitconfig') }
      : { XDG_STATE_HOME: project.path('.local/state') };
  // The scripted agent finds its scripts in HOME.
  if (how === 'HOME') {
    project.write('.git/info/exclude', 'agent/\n');
    agent.forEach((script, index) => project.write(`agent/${index + 1}.sh`, script));
  }
  return { project, spool: (...args: string[]) => project.start(args, { env }).result };
};

const namesIn = (project: TestProject, commit: string) =>
  project.git('ls-tree', '-r', '--name-only', commit).split('\n');

const checkpoints = (project: TestProject) =>
  project.git('for-each-ref', '--format=%(refname)', 'refs/spool').split('\n');

/** Every file in the state folder with its contents, except temporary ones. */
const recorded = (project: TestProject): Record<string, string> =>
  Object.fromEntries(
    readdirSync(project.path(records), { recursive: true, encoding: 'utf8' })
      .filter((name) => !name.startsWith('tmp') && statSync(project.path(`${records}/${name}`)).isFile())
      .map((name) => [name, readFileSync(project.path(`${records}/${name}`), 'latin1')]),
  );

describe.each(['HOME', 'XDG_STATE_HOME'] as const)('a repository that %s makes contain the state folder', (how) => {
  test('has none of its files in commits, checkpoints, changes and rewinds', async () => {
    const { project, spool } = containing(['echo x > x.txt', 'git add --all; true'], how);

    const result = await spool('ralph', '--change', change, '--max-stalled', '2');

    expect(result).toMatchObject({ code: 4 });
    expect(result.stderr).toContain('Blocked: 2 iterations in a row changed nothing (--max-stalled).');
    expect(project.history().map(({ git }) => git!.filesChanged)).toEqual([1, 0, 0]);
    expect(project.git('show', '--format=', '--name-only', 'HEAD')).toBe('x.txt');
    expect(project.git('status', '--porcelain')).toBe('');
    for (const ref of checkpoints(project)) expect(namesIn(project, ref).join()).not.toContain(records);

    const before = recorded(project);
    const dry = await spool('rewind', change, '0', '--dry-run');
    expect(dry).toMatchObject({ code: 0, stdout: 'D  x.txt\n' });
    const rewound = await spool('rewind', change, '0');
    expect(rewound).toMatchObject({ code: 0, stderr: '' });
    expect(project.exists('x.txt')).toBe(false);
    expect(recorded(project)).toMatchObject(
      Object.fromEntries(Object.entries(before).filter(([name]) => !name.endsWith('checkpoints'))),
    );
    expect(await spool('rewind', change, 'r1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('A  x.txt\n'),
    });
    expect(project.read('x.txt')).toBe('x\n');
    expect(project.git('status', '--porcelain')).toBe('');
  });
});

test('the state folder stays out of everything if an agent unhides and commits it', async () => {
  const unhide = `rm -f ${records}/.gitignore`;
  const { project, spool } = containing(
    [
      `echo x > x.txt; ${unhide}`,
      `${unhide}; git add --force ${records}; git commit -qm own`,
      `${unhide}; echo y > y.txt`,
      `${unhide}; true`,
    ],
    'XDG_STATE_HOME',
  );

  const result = await spool('ralph', '--change', change, '--max-stalled', '2');

  expect(result).toMatchObject({ code: 4 });
  expect(result.stderr).toContain('Blocked: 2 iterations in a row changed nothing (--max-stalled).');
  expect(project.git('log', '--format=%s').split('\n')).toEqual([
    'ralph(002-01): iteration 3',
    'own',
    'ralph(002-01): iteration 1',
    'start',
  ]);
  expect(project.git('show', '--format=', '--name-only', 'HEAD')).toBe('y.txt');
  expect(project.git('show', '--format=', '--name-only', 'HEAD~2')).toBe('x.txt');

  const before = recorded(project);
  const rewound = await spool('rewind', change, '1');
  expect(rewound).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^D {2}y\.txt\nRestored files to iteration 1 /),
  });
  expect(Object.keys(recorded(project))).toEqual(expect.arrayContaining(Object.keys(before)));
  expect(await spool('rewind', change, 'r1')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^A {2}y\.txt\n/),
  });
  expect(project.read('y.txt')).toBe('y\n');
});

test('a state folder that was committed before does not hide that an agent is stalled', async () => {
  const { project, spool } = containing(['true'], 'XDG_STATE_HOME');
  await spool('ralph', '--change', change, '--max-stalled', '1');
  rmSync(project.path(`${records}/.gitignore`), { force: true });
  project.git('add', '--force', records);
  project.git('commit', '-qm', 'by mistake');

  const result = await spool('ralph', '--change', change, '--max-stalled', '2');

  expect(result).toMatchObject({ code: 4 });
  expect(project.history()).toHaveLength(3);
  expect(project.git('log', '--format=%s').split('\n')).toEqual(['by mistake', 'start']);
  expect(project.git('status', '--porcelain', '--untracked-files=all')).not.toContain('??');
});
