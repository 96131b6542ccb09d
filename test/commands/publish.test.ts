import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { withGithub } from '../support/github.ts';
import { change, createProject, type ProjectOptions } from '../support/project.ts';

const branch = `ralph/${change}`;
const pullUrl = 'https://github.com/acme/shop/pull/1';

/** A project in which a run in a worktree has completed. */
const worked = async ({ agent = ['echo x > x.txt'], files = {} }: ProjectOptions = {}) => {
  const project = createProject({ files, agent: agent.map((script) => `${script}; ${promise}`) });
  expect(await project.spool('ralph', change, '--worktree', '--verify', 'true')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`  Publish     spool publish ${change}\n  Land        spool land ${change}\n`),
  });
  return { project, github: withGithub(project) };
};

test('pushes the branch and opens one draft pull request; a second call updates it, and --ready marks it', async () => {
  const { project, github } = await worked({
    files: { [`.spool/changes/${change}/tasks.md`]: '- [x] Write it | @octocat\n' },
  });
  const head = project.git('rev-parse', 'HEAD');

  expect(await github.spool('publish', change)).toEqual({
    code: 0,
    signal: null,
    stdout: `Opened a draft pull request for ${change}: ${pullUrl}\n`,
    stderr: `Pushed ${branch} to origin.\n`,
  });
  expect(github.onRemote('rev-parse', branch)).toBe(project.git('rev-parse', branch));
  expect(github.onRemote('for-each-ref', '--format=%(refname)')).toBe(`refs/heads/main\nrefs/heads/${branch}`);
  expect(project.git('rev-parse', 'HEAD')).toBe(head);
  const [first] = github.pulls();
  expect(first).toMatchObject({ title: 'Add the loop', base: 'main', head: branch, isDraft: true });
  for (const words of [
    'The proposal of the loop.',
    '## Proof',
    '**Complete** after 1 iteration',
    '<code>true</code> | passed',
    '- [x] Write it &#124; @&#8203;octocat',
  ])
    expect(first!.body).toContain(words);
  // Nothing of the project is read if the address is known.
  expect(
    github.calls().every(({ cwd, args }) => !cwd.startsWith(project.folder) && args.includes('--repo=acme/shop')),
  ).toBe(true);

  expect(await github.spool('publish', change)).toMatchObject({
    code: 0,
    stdout: `The draft pull request of ${change} is up to date: ${pullUrl}\n`,
    stderr: '',
  });
  github.setPulls([
    { ...first!, title: 'Mine', body: `Hello.\r\n\r\n${first!.body.replace('## Proof', '## Old')}\r\nBye.` },
  ]);
  expect(await github.spool('publish', change, '--ready')).toMatchObject({
    code: 0,
    stdout: `Marked the pull request of ${change} as ready: ${pullUrl}\n`,
  });
  const [second, ...more] = github.pulls();
  expect(more).toEqual([]);
  expect(second).toMatchObject({ title: 'Mine', isDraft: false });
  expect(second!.body).toMatch(/^Hello\.\n\n<!-- spool: [^]*## Proof[^]*<!-- spool: end -->\n\nBye\.$/);
  expect(second!.body).not.toContain('## Old');
});

test('replaces what Spool itself has pushed after a rewind, and nothing that others have', async () => {
  const { project, github } = await worked();
  await github.spool('publish', change);
  const pushed = github.onRemote('rev-parse', branch);
  // The branch is rewritten.
  const tree = project.git('rev-parse', `${branch}^{tree}`);
  const rewritten = project.git('commit-tree', tree, '-p', 'main', '-m', 'rewritten');
  project.git('update-ref', `refs/heads/${branch}`, rewritten);

  expect(await github.spool('publish', change, '--force')).toMatchObject({
    code: 0,
    stderr: `Pushed ${branch} to origin.\n`,
  });
  expect(github.onRemote('rev-parse', branch)).toBe(rewritten);
  expect(rewritten).not.toBe(pushed);

  const foreign = github.onRemote(
    '-c',
    'user.name=x',
    '-c',
    'user.email=x@example.com',
    'commit-tree',
    tree,
    '-p',
    rewritten,
    '-m',
    'foreign',
  );
  github.onRemote('update-ref', `refs/heads/${branch}`, foreign);
  project.git('update-ref', `refs/heads/${branch}`, project.git('commit-tree', tree, '-p', rewritten, '-m', 'mine'));
  expect(await github.spool('publish', change, '--force')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^spool: origin has commits on .* that are not here and that Spool did not push, so nothing was pushed\./,
    ),
  });
  expect(github.onRemote('rev-parse', branch)).toBe(foreign);
});

test('a closed pull request is left alone, a merged one is done, and new commits get a new one', async () => {
  const { project, github } = await worked();
  await github.spool('publish', change);
  const [pull] = github.pulls();
  github.setPulls([{ ...pull!, state: 'CLOSED' }]);
  github.onRemote('update-ref', '-d', `refs/heads/${branch}`);
  expect(await github.spool('publish', change)).toMatchObject({
    code: 1,
    stderr: `spool: The pull request of this branch is closed (${pullUrl}), so nothing was pushed. Reopen it with: gh pr reopen 1 --repo acme/shop\n`,
  });
  expect(github.onRemote('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');

  github.setPulls([{ ...pull!, state: 'MERGED', headRefOid: project.git('rev-parse', branch) }]);
  expect(await github.spool('publish', change)).toMatchObject({
    code: 0,
    stdout: `Nothing to publish: the pull request of ${branch} was merged (${pullUrl}).\n`,
  });
  // One of a fork with the same name is not ours.
  github.setPulls([
    { ...pull!, state: 'MERGED' },
    { ...pull!, number: 2, isCrossRepository: true },
  ]);
  const more = project.git('commit-tree', `${branch}^{tree}`, '-p', branch, '-m', 'more');
  project.git('update-ref', `refs/heads/${branch}`, more);
  expect(await github.spool('publish', change, '--force')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('https://github.com/acme/shop/pull/3'),
  });
});

describe('rejects', () => {
  test('a change without a branch, with uncommitted work, or that is not complete', async () => {
    const project = createProject({ agent: ['echo x > x.txt'] });
    const github = withGithub(project);
    expect(await github.spool('publish', change)).toMatchObject({
      code: 2,
      stderr: `spool: No branch ${branch} to publish. Create it with: spool ralph --change ${change} --worktree\n`,
    });
    await project.spool('ralph', change, '--worktree', '--max-iterations', '1');
    expect(await github.spool('publish', change)).toMatchObject({
      code: 2,
      stderr: `spool: ${change} is not complete (stopped at --max-iterations). Publish it anyway with --force.\n`,
    });
    project.write(`.spool/worktrees/${change}/left.txt`, '');
    expect(await github.spool('publish', change, '--force')).toMatchObject({
      code: 2,
      stderr: `spool: .spool/worktrees/${change} has work that is not on ${branch}: left.txt is not committed. Commit it there first.\n`,
    });
    expect(github.calls()).toEqual([]);
    rmSync(project.path(`.spool/worktrees/${change}/left.txt`));
    expect(await github.spool('publish', change, '--force')).toMatchObject({ code: 0 });
  });

  test('a run that is running', async () => {
    const project = createProject({ agent: [waitsFor('go')] });
    const github = withGithub(project);
    const running = project.start(['ralph', change, '--worktree', '--max-iterations', '1']);
    await running.printed('waiting for go');
    expect(await github.spool('publish', change, '--force')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is already running'),
    });
    running.kill('SIGINT');
    await running.result;
  });

  test('the main branch of the remote, a branch that is its own base, and a missing remote', async () => {
    const project = createProject({ agent: [`echo x > x.txt; ${promise}`] });
    const github = withGithub(project);
    await project.spool('ralph', change, '--branch', 'feature');
    project.git('push', '--quiet', 'origin', 'main:feature');
    github.onRemote('symbolic-ref', 'HEAD', 'refs/heads/feature');
    expect(await github.spool('publish', change)).toMatchObject({
      code: 2,
      stderr: 'spool: feature is not published: it is the main branch of origin. Run the change with --worktree.\n',
    });
    expect(await github.spool('publish', change, '--base', 'feature')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('it is also the branch to merge it into'),
    });
    expect(await github.spool('publish', change, '--remote', 'upstream')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no remote "upstream"'),
    });
    expect(github.onRemote('rev-parse', 'feature')).toBe(github.onRemote('rev-parse', 'main'));
  });

  test('a remote that rejects the push, and says why', async () => {
    const { project, github } = await worked();
    project.write('../remote.git/hooks/pre-receive', '#!/bin/sh\necho "the branch is protected" >&2\nexit 1\n');
    chmodSync(join(github.remote, 'hooks/pre-receive'), 0o755);
    expect(await github.spool('publish', change)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^spool: ralph\/.* was not pushed to origin: .*\n$/),
    });
    expect(github.pulls()).toEqual([]);
  });

  test('gh that fails, before anything is pushed', async () => {
    const { github } = await worked();
    const scripts = [
      ['exit 4', 'gh, the GitHub CLI, is not signed in. Sign in with: gh auth login'],
      ['echo "unknown flag: --json" >&2; exit 1', 'spool publish needs a newer gh, the GitHub CLI'],
      [
        'echo "GraphQL: Could not resolve to a Repository (repository)" >&2; exit 1',
        `No pull request for ${branch}: Could not resolve to a Repository.`,
      ],
      ['echo {}', 'the answer of gh is not a list of pull requests.'],
    ] as const;
    for (const [script, line] of scripts) {
      github.script(script);
      const { code, stderr } = await github.spool('publish', change);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^spool: [^\n]*\n$/) });
      expect(stderr).toContain(line);
    }
    expect(github.onRemote('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  });
});

test('--print needs neither gh nor a remote nor a run, and prints no secret', async () => {
  const id = '000-01_issue';
  const project = createProject({
    files: {
      [`.spool/changes/${id}/proposal.md`]:
        '# Issue #12: --title=evil <b>\n\nIssue: https://github.com/acme/shop/issues/12\n\nFor the agent.\n\n> It **fails** with ghp_abcdefghijklmnopqrstuvwxyz0123456789.\n',
    },
  });
  const result = await project.spool('publish', id, '--print');
  expect(result).toMatchObject({ code: 0, stderr: '' });
  expect(result.stdout).toContain('It \\*\\*fails\\*\\* with \\[redacted\\].\n\nCloses acme/shop#12\n\n## Proof\n');
  expect(result.stdout).not.toMatch(/ghp_|For the agent/);
});

test('a hostile title is no option of gh, and the issue of the same repository is closed', async () => {
  const { github } = await worked({
    files: {
      [`.spool/changes/${change}/proposal.md`]:
        '# Issue #12: --web\n\nIssue: https://github.com/acme/shop/issues/12\n\nFor the agent.\n\n> Text.\n',
    },
  });
  expect(await github.spool('publish', change)).toMatchObject({ code: 0 });
  expect(github.pulls()).toMatchObject([
    { title: 'Issue #12: --web', body: expect.stringContaining('\nCloses #12\n') },
  ]);
});
