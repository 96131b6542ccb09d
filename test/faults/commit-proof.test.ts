import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { hook, killsSpool, ledgerOf, prints, requirement, scenario, spec } from '../support/proof.ts';

/** The commit of a proven iteration says so, and every record names the commit that is on the branch. */

const run = (...verify: string[]) => [
  'ralph',
  '--change',
  change,
  '--require-scenarios',
  ...[prints(), ...verify].flatMap((command) => ['--verify', command]),
];
const files = { [spec]: requirement };
const trailer = 'Scenarios: 1/1 proven';

const headOf = (project: TestProject) => project.git('rev-parse', 'HEAD');
const messageOf = (project: TestProject, commit = 'HEAD') => project.git('log', '-1', '--format=%B', commit);
const provenIn = (project: TestProject) => ledgerOf(project).scenarios.map(({ proof }) => proof?.commit);

/** What a person can ask about the run afterwards. */
const isConsistent = async (project: TestProject, commit = headOf(project)) => {
  expect(project.history().at(-1)).toMatchObject({ completionFound: true, commit });
  expect(project.state()).toMatchObject({ status: 'complete', commits: { count: 1, last: commit } });
  expect(provenIn(project)).toEqual([commit]);
  expect(project.git('status', '--porcelain')).toBe('');
  expect(project.git('log', '--format=%s').split('\n')).toEqual(['ralph(002-01): iteration 1', 'start']);
  expect((await project.spool('diff', change)).stdout).toContain('+work');
  // Rewinding knows which commits on the branch are those of the iterations.
  const rewound = await project.spool('rewind', change, '0');
  expect(rewound).toMatchObject({ code: 0 });
  expect(rewound.stdout + rewound.stderr).toContain('The commit of iteration 1 is still on main.');
};

test('the commit of a proven iteration has a trailer, and records name the commit that has it', async () => {
  const project = createProject({ files, agent: ['echo draft > draft.txt', `echo work > work.txt; ${promise}`] });
  project.write('staged.txt', 'of the user\n');
  project.git('add', 'staged.txt');

  const result = await project.spool(...run());

  expect(result).toMatchObject({ code: 0 });
  const { run: id } = project.state();
  expect(messageOf(project)).toBe(
    `ralph(002-01): iteration 2\n\n1 file changed, +1 -0\n\nSpool-Change: ${change}\nSpool-Iteration: 2\nSpool-Run: ${id}\n${trailer}`,
  );
  expect(project.git('log', '-1', '--format=%(trailers:key=Scenarios,valueonly)').trim()).toBe('1/1 proven');
  expect(messageOf(project, 'HEAD~1')).not.toContain('Scenarios');
  expect(project.history().map(({ commit }) => commit)).toEqual(
    ['HEAD~1', 'HEAD'].map((name) => project.git('rev-parse', name)),
  );
  expect(provenIn(project)).toEqual([headOf(project)]);
  expect((await project.spool('proof', change)).stdout).toContain(headOf(project).slice(0, 8));
  expect(project.git('show', '--format=', '--name-only', 'HEAD')).toBe('work.txt');
  expect(project.git('status', '--porcelain')).toBe('A  staged.txt');
  expect(result.stderr).toContain(headOf(project).slice(0, 8));
  expect(project.git('log', '-1', '--format=%gs', '--walk-reflogs')).toBe('spool: amend the message');
});

describe('the commit stays as it is, and a notice says why, if', () => {
  const signature = `echo '[GNUPG:] SIG_CREATED ' >&2\ncat > /dev/null\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nAAAA\\n-----END PGP SIGNATURE-----\\n'`;

  test.each<[string, string, string, ((project: TestProject) => void)?]>([
    ['it was pushed', 'git push -q origin main', 'origin/main has it as well'],
    ['a tag has it', 'git tag -f seen', 'seen has it as well'],
    ['the branch has moved', 'git commit -q --allow-empty -m later', 'main has other commits by now'],
    ['HEAD is detached', 'git checkout -q --detach', 'HEAD is detached'],
    [
      'a hook refuses the message',
      'true',
      'no trailers here',
      (project) => hook(project, 'commit-msg', `! grep '^Scenarios' "$1" || { echo 'no trailers here' >&2; exit 1; }`),
    ],
    [
      'a hook refuses to move the branch',
      'true',
      'hook',
      (project) =>
        hook(
          project,
          'reference-transaction',
          `[ "$1" = prepared ] || exit 0; while read old new ref; do ! git log -1 --format=%B $new | grep -q '^Scenarios' || exit 1; done`,
        ),
    ],
    [
      'it is signed',
      'true',
      'it is signed',
      (project) => {
        writeFileSync(join(project.home, 'gpg'), `#!/bin/sh\n${signature}\n`);
        chmodSync(join(project.home, 'gpg'), 0o755);
        project.git('config', 'commit.gpgsign', 'true');
        project.git('config', 'gpg.program', join(project.home, 'gpg'));
      },
    ],
  ])('%s', async (_, verify, why, prepare = () => {}) => {
    const project = createProject({ files, agent: [`echo work > work.txt; ${promise}`] });
    spawnSync('git', ['init', '-q', '--bare', join(project.home, 'remote.git')], { env: project.env });
    project.git('remote', 'add', 'origin', join(project.home, 'remote.git'));
    prepare(project);

    const result = await project.spool(...run(verify));

    expect(result).toMatchObject({ code: 0 });
    const { commit } = project.history()[0]!;
    expect(result.stderr).toMatch(
      new RegExp(`^Commit ${commit!.slice(0, 8)} does not name its proven scenarios: .*${why}.*\\.$`, 'm'),
    );
    expect(messageOf(project, commit!)).not.toContain('Scenarios');
    expect(project.git('branch', '--contains', commit!, '--format=%(refname:short)')).toContain('main');
    expect(provenIn(project)).toEqual([commit]);
    expect(project.git('status', '--porcelain')).toBe('');
  });
});

describe('Spool is killed', () => {
  const amending = `while read old new ref; do git log -1 --format=%B $new | grep -q '^Scenarios' || exit 0; done`;

  test.each([
    ['before the branch moves', 'commit-msg', `! grep -q '^Scenarios' "$1" || { rm "$0"; ${killsSpool}; }`],
    [
      'right after the branch has moved',
      'reference-transaction',
      `[ "$1" = committed ] || exit 0; ${amending}; rm "$0"; ${killsSpool}`,
    ],
  ])('%s: nothing is lost, and the resumed run names the commit on the branch', async (_, name, script) => {
    const project = createProject({ files, agent: [`echo work > work.txt; ${promise}`] });
    hook(project, name, script);
    expect(await project.spool(...run())).toMatchObject({ signal: 'SIGKILL' });
    const { pending } = project.state();
    expect(project.history()).toEqual([]);
    expect(pending!.commit === headOf(project)).toBe(name === 'commit-msg');
    expect(project.git('rev-parse', `${pending!.commit}^{tree}`)).toBe(project.git('rev-parse', 'HEAD^{tree}'));

    const result = await project.spool('ralph', '--change', change);

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('Running the gate of iteration 1 again');
    expect(project.calls()).toHaveLength(1);
    expect(
      messageOf(project)
        .split('\n')
        .filter((line) => line.startsWith('Scenarios')),
    ).toEqual([trailer]);
    await isConsistent(project);
  });

  test('and a person has committed on top: the record names the commit of the iteration', async () => {
    const project = createProject({ files, agent: [`echo work > work.txt; ${promise}`] });
    hook(project, 'reference-transaction', `[ "$1" = committed ] || exit 0; ${amending}; rm "$0"; ${killsSpool}`);
    expect(await project.spool(...run())).toMatchObject({ signal: 'SIGKILL' });
    const amended = headOf(project);
    project.git('commit', '-q', '--allow-empty', '-m', 'mine');

    const result = await project.spool('ralph', '--change', change);

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).not.toContain('does not name');
    expect(project.history()).toMatchObject([{ commit: amended }]);
    expect(provenIn(project)).toEqual([amended]);
    expect(project.git('log', '--format=%s').split('\n')).toEqual(['mine', 'ralph(002-01): iteration 1', 'start']);
    expect(messageOf(project, amended)).toContain(trailer);
    expect(ledgerOf(project).scenarios).toMatchObject([{ id: scenario, state: 'proven' }]);
  });
});
