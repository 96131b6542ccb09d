import { readdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { isStopped } from '../support/processes.ts';
import { createProject, root, spoolProgram, startProcess, type TestProject } from '../support/project.ts';

const id = '001-01_add-2fa';
const purpose = 'Users can log in and out, and nobody else can do it in their name.';

const requirement = (name: string) =>
  `### Requirement: ${name}\n\nIt SHALL support ${name}.\n\n#### Scenario: First\n\n- **WHEN** it happens\n- **THEN** it works\n`;
const spec = (name: string, ...requirements: string[]) =>
  `# ${name} Specification\n\n## Purpose\n\n${purpose}\n\n## Requirements\n\n${requirements.join('\n')}`;

/** A change that edits one main spec, creates one and deletes one. */
const files = {
  '.spool/specs/auth/spec.md': spec('auth', requirement('Login')),
  '.spool/specs/legacy/spec.md': spec('legacy', requirement('Fax')),
  [`.spool/changes/${id}/proposal.md`]: '# Add 2FA\n\nAsk for a code.\n',
  [`.spool/changes/${id}/.spool.yaml`]: 'retire_capabilities: true\n',
  [`.spool/changes/${id}/specs/auth/spec.md`]: `## ADDED Requirements\n\n${requirement('Code')}`,
  [`.spool/changes/${id}/specs/legacy/spec.md`]: '## REMOVED Requirements\n\n### Requirement: Fax\n',
  [`.spool/changes/${id}/specs/shop/cart/spec.md`]: `## ADDED Requirements\n\n${requirement('Cart')}`,
};

/** All files of the project besides the state, with their contents. The date of the archive is left out. */
const contents = ({ folder }: TestProject): Record<string, string> => {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((name) => !/^(?:\.git|\.spool\/\.state)\//.test(name));
  return Object.fromEntries(
    names
      .toSorted()
      .map((name) => [name.replace(/\d{4}-\d\d-\d\d-/, ''), readFileSync(join(folder, name), 'utf8')] as const),
  );
};

const state = ({ path }: TestProject): string[] =>
  readdirSync(path('.spool/.state')).filter((name) => name.startsWith('archive.json'));

/** Kills at a number of changes to the file system after the first one that concerns `from`. */
const killedAt = (project: TestProject, from: string, at: number) =>
  archive(project, { KILL_FROM: from, KILL_AT: String(at) }).result;

const archive = (project: TestProject, env: NodeJS.ProcessEnv) =>
  startProcess(process.execPath, ['--require', join(root, 'test/fixtures/kill-at.cjs'), spoolProgram, 'archive', id], {
    cwd: project.folder,
    env: { ...project.env, ...env },
  });

test('an archive command that is killed at any write is undone or finished by the next command', async () => {
  const project = createProject({ files });
  const before = contents(project);
  const reset = () => {
    project.git('checkout', '--quiet', '.');
    project.git('clean', '-fdxq');
  };
  expect(await project.spool('archive', id)).toMatchObject({ code: 0 });
  const after = contents(project);
  expect(Object.keys(after).filter((name) => name.startsWith('.spool/specs'))).toEqual([
    '.spool/specs/auth/spec.md',
    '.spool/specs/shop/cart/spec.md',
  ]);

  const outcomes: string[] = [];
  for (let at = 0; ; at++) {
    reset();
    const killed = await killedAt(project, 'archive.json', at);
    if (killed.signal === null) {
      expect(killed).toMatchObject({ code: 0 });
      break;
    }
    const list = await project.spool('list');
    expect(list.code).toBe(0);
    const found = contents(project);
    const isNew = found[`.spool/changes/${id}/proposal.md`] === undefined;
    expect([at, found]).toEqual([at, isNew ? after : before]);
    expect([at, project.exists('.spool/specs/legacy')]).toEqual([at, !isNew]);
    outcomes.push(isNew ? 'new' : 'old');
    // Nothing is left over, and the next archiving is not stopped by anything.
    if (!isNew) expect(await project.spool('archive', id)).toMatchObject({ code: 0, stderr: '' });
    expect(contents(project)).toEqual(after);
    expect(state(project)).toEqual([]);
  }
  expect(outcomes.length).toBeGreaterThan(10);
  // The switch from the old to the new state happens once.
  expect(outcomes.join(' ')).toMatch(/^(?:old )+(?:new ?)+$/);
}, 600_000);

const killedMidway = async () => {
  const project = createProject({ files });
  await killedAt(project, 'legacy', 0);
  expect(project.read('.spool/specs/auth/spec.md')).toContain('Code');
  expect(project.exists('.spool/specs/legacy/spec.md')).toBe(true);
  return project;
};

test.each([['list'], ['validate'], ['archive', '001'], ['ralph', '--status']])(
  'spool %s finishes an archive command that was killed, and says so',
  async (...args) => {
    const project = await killedMidway();
    expect(project.exists(`.spool/changes/${id}`)).toBe(true);
    const { stderr } = await project.spool(...args);
    expect(stderr).toContain(`Finished archiving ${id} as .spool/changes/archive/`);
    expect(project.exists(`.spool/changes/${id}`)).toBe(false);
    expect(project.exists('.spool/specs/legacy')).toBe(false);
    expect((await project.spool('list')).stderr).toBe('');
  },
);

test('a main spec that was edited after the kill is kept, and archiving again merges the rest', async () => {
  const project = await killedMidway();
  const edited = spec('legacy', requirement('Fax'), requirement('Telex'));
  project.write('.spool/specs/legacy/spec.md', edited);
  const { stderr } = await project.spool('list');
  expect(stderr).toBe(
    `Archiving ${id} was interrupted, and .spool/specs/legacy/spec.md was changed since. Archive it again: spool archive ${id}\n`,
  );
  expect(project.read('.spool/specs/legacy/spec.md')).toBe(edited);
  expect(await project.spool('archive', id)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(
      '  auth: already up to date\n  legacy: 1 removed\n  shop/cart: 1 added (new .spool/specs/shop/cart/spec.md)\n',
    ) as string,
  });
  expect(project.read('.spool/specs/legacy/spec.md')).toBe(spec('legacy', requirement('Telex')));
});

test('an archive command that cannot be finished stops no other command, and is finished later', async () => {
  const project = await killedMidway();
  const [folder, moved] = [project.path('.spool/specs/legacy'), `${project.home}/moved`];
  renameSync(folder, moved);
  symlinkSync(moved, folder);
  const list = await project.spool('list');
  expect(list).toMatchObject({ code: 0, stdout: expect.stringContaining(id) as string });
  expect(list.stderr).toMatch(
    /^"spool archive" was interrupted, and cannot be finished yet: \S+legacy is a symbolic link/,
  );
  expect(readdirSync(moved)).toEqual(['spec.md']);

  unlinkSync(folder);
  renameSync(moved, folder);
  expect((await project.spool('list')).stderr).toContain(`Finished archiving ${id}`);
});

test('a journal that Spool has not written changes nothing', async () => {
  const project = createProject({ files });
  const before = contents(project);
  const journal = {
    v: 1,
    change: id,
    from: `.spool/changes/${id}`,
    to: `.spool/changes/archive/2026-01-01-${id}`,
    writes: [{ path: '.spool/specs/auth/spec.md', before: project.read('.spool/specs/auth/spec.md'), after: 'x' }],
  };
  for (const forged of [
    journal,
    { ...journal, to: '.git/hooks' },
    { ...journal, from: 'src' },
    { ...journal, from: `.spool/changes/../changes/${id}` },
    { ...journal, writes: [{ path: '.git/spec.md', before: null, after: 'x' }] },
    { ...journal, writes: [{ path: '.spool/specs/../../.git/spec.md', before: null, after: 'x' }] },
    { ...journal, writes: [{ path: '../spec.md', before: null, after: 'x' }] },
    { ...journal, writes: 'x' },
    [],
  ]) {
    project.write('.spool/.state/archive.json', JSON.stringify(forged));
    expect((await project.spool('list')).stderr).toContain('archive.json is ignored');
    expect(contents(project)).toEqual(before);
    expect(project.exists('.git/spec.md')).toBe(false);
    rmSync(project.path('.spool/.state/archive.json'), { force: true });
  }
});

test('of two archivings at once, the second says what the first does', async () => {
  const project = createProject({ files });
  const stoppedAt = async (from: string) => {
    const stopped = archive(project, { KILL_FROM: from, KILL_AT: '0', KILL_SIGNAL: 'SIGSTOP' });
    await eventually(() => isStopped(stopped.pid), `the stop at ${from}`);
    return stopped;
  };
  // Before it has the lock, and while it has it.
  const late = await stoppedAt(id);
  const first = await stoppedAt('archive.json');
  expect(await project.spool('archive', id)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      new RegExp(
        `^spool: ${id} is being archived by another process \\(PID ${first.pid}, .*\\)\\. Try again when it has finished\\.\\n$`,
      ),
    ),
  });
  process.kill(first.pid, 'SIGCONT');
  expect(await first.result).toMatchObject({ code: 0 });
  process.kill(late.pid, 'SIGCONT');
  expect(await late.result).toMatchObject({
    code: 2,
    stderr: `spool: ${id} was archived or deleted by another process in the meantime. See: spool list --archived\n`,
  });
});
