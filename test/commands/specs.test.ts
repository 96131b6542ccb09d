import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { standardMain } from '../fixtures/openspec/cases.mjs';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const folder = `.spool/changes/${change}`;
const main = '.spool/specs/auth/spec.md';

const requirement = (name: string, scenario = '#### Scenario: First\n\n- **THEN** it works\n') =>
  `### Requirement: ${name}\n\nIt SHALL support ${name}.\n\n${scenario}`;

const withDelta = (delta: string, files: Record<string, string> = {}) =>
  createProject({
    agent: [promise],
    files: { [main]: standardMain, [`${folder}/specs/auth/spec.md`]: delta, ...files },
  });

const good = `## RENAMED Requirements\n\n- FROM: \`### Requirement: Login\`\n- TO: \`### Requirement: Sign in\`\n\n## ADDED Requirements\n\n${requirement('Code')}`;
const bad = `## ADDED Requirements\n\n${requirement('One', '')}\n${requirement('Two', '')}`;

test('archive merges the specs of a change and says what it did', async () => {
  const project = withDelta(good, {
    [`${folder}/specs/shop/cart/spec.md`]: `## ADDED Requirements\n\n${requirement('Cart')}`,
  });
  const { code, stdout, stderr } = await project.spool('archive', change);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.replace(/\d{4}-\d\d-\d\d/, 'DAY')).toBe(
    `Archived ${change} as .spool/changes/archive/DAY-${change}\n  auth: 1 added, 1 renamed\n  shop/cart: 1 added (new .spool/specs/shop/cart/spec.md)\n`,
  );
  expect(project.read(main)).toBe(
    `${standardMain.replace('### Requirement: Login', '### Requirement: Sign in')}\n${requirement('Code')}`,
  );
  expect(project.read('.spool/specs/shop/cart/spec.md')).toContain('# shop/cart Specification\n');
});

test('archive --dry-run keeps the line endings of a file', async () => {
  const project = withDelta(good, { [main]: standardMain.replaceAll('\n', '\r\n') });
  const { stdout } = await project.spool('archive', change, '--dry-run');
  writeFileSync(`${project.home}/dry-run.patch`, stdout);
  project.git('apply', `${project.home}/dry-run.patch`);
  expect(project.read(main)).toContain('### Requirement: Sign in\r\n');
});

test('archive --dry-run shows the difference and changes nothing', async () => {
  const project = withDelta(good, { [`${folder}/tasks.md`]: '- [ ] open\n' });
  const { code, stdout, stderr } = await project.spool('archive', change, '--dry-run');
  expect(code).toBe(0);
  expect(stdout).toContain(`--- a/${main}\n+++ b/${main}\n@@ -6,7 +6,7 @@\n`);
  expect(stdout).toContain('-### Requirement: Login\n+### Requirement: Sign in\n');
  expect(stdout).toContain('+### Requirement: Code\n');
  expect(stderr).toContain(`Would archive ${change} as .spool/changes/archive/`);
  expect(project.git('status', '--porcelain')).toBe('');
  expect(project.read(main)).toBe(standardMain);

  // It is what patch(1) and git understand.
  writeFileSync(`${project.home}/dry-run.patch`, stdout);
  project.git('apply', `${project.home}/dry-run.patch`);
  const patched = project.read(main);
  project.git('checkout', '--quiet', '.');
  await project.spool('archive', change, '--force');
  expect(project.read(main)).toBe(patched);
});

test('archive --no-specs only moves the change', async () => {
  const project = withDelta(bad);
  const { code, stdout } = await project.spool('archive', change, '--no-specs');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Archived \S+ as \S+\n$/);
  expect(project.read(main)).toBe(standardMain);
});

test('archive rejects specs that cannot be merged, and changes nothing', async () => {
  const project = withDelta(bad, {
    [`${folder}/specs/cart/spec.md`]: `## ADDED Requirements\n\n${requirement('Cart')}`,
  });
  expect(await project.spool('archive', change)).toEqual({
    code: 2,
    signal: null,
    stdout: '',
    stderr: [
      `${folder}/specs/auth/spec.md:3: error: ADDED: "One" has no scenario. Add "#### Scenario: …" with steps below it.`,
      `${folder}/specs/auth/spec.md:8: error: ADDED: "Two" has no scenario. Add "#### Scenario: …" with steps below it.`,
      `spool: ${change} was not archived because of the 2 problems above. Nothing was changed. Fix them, or archive it without merging its specs: spool archive ${change} --no-specs`,
      '',
    ].join('\n'),
  });
  expect(project.git('status', '--porcelain')).toBe('');

  project.write(`${folder}/specs/auth/spec.md`, `## MODIFIED Requirements\n\n${requirement('login')}`);
  const { code, stderr } = await project.spool('archive', change);
  expect(code).toBe(2);
  expect(stderr).toContain(
    `specs/auth/spec.md:3: error: MODIFIED: there is no requirement "login" in the main spec (did you mean "Login"?).\n`,
  );
  expect(project.exists('.spool/specs/cart')).toBe(false);
});

test('archive --json prints what was merged', async () => {
  const project = withDelta(good);
  const { stdout } = await project.spool('archive', change, '--json');
  expect(JSON.parse(stdout)).toEqual({
    change,
    archivedAs: expect.stringMatching(/^\.spool\/changes\/archive\//) as string,
    specs: [{ capability: 'auth', path: main, result: 'written', added: 1, modified: 0, removed: 0, renamed: 1 }],
    warnings: [],
  });
});

test('archive uses the local day', async () => {
  const project = withDelta(good);
  // One of these is always another day than in UTC.
  const days = ['Etc/GMT+12', 'Etc/GMT-14'].map((zone) => ({
    zone,
    day: new Intl.DateTimeFormat('sv', { timeZone: zone }).format(new Date()),
  }));
  const { zone, day } = days.find((each) => each.day !== new Date().toISOString().slice(0, 10))!;
  await project.start(['archive', change], { env: { TZ: zone } }).result;
  expect(readdirSync(project.path('.spool/changes/archive'))).toEqual([`${day}-${change}`]);
});

test('archive does not add a second date', async () => {
  const project = createProject({ files: { '.spool/changes/2026-01-02-old/proposal.md': '# Old\n\nDo it.\n' } });
  await project.spool('archive', '2026-01-02-old');
  expect(readdirSync(project.path('.spool/changes/archive'))).toEqual(['2026-01-02-old']);
});

test('archive and validate follow no link', async () => {
  const project = withDelta(good);
  const outside = `${project.home}/outside`;
  mkdirSync(outside);
  writeFileSync(`${outside}/spec.md`, standardMain);
  project.git('rm', '-rq', '.spool/specs/auth');
  mkdirSync(project.path('.spool/specs'), { recursive: true });
  symlinkSync(outside, project.path('.spool/specs/auth'));
  const problem = '.spool/specs/auth is a symbolic link, so Spool does not use it. Replace it with a folder.';
  expect(await project.spool('archive', change)).toMatchObject({
    code: 2,
    stderr: `spool: ${project.path(problem)}\n`,
  });
  const validated = await project.spool('validate', change, '--json');
  expect(validated).toMatchObject({ code: 1, stderr: '' });
  expect(JSON.parse(validated.stdout)).toMatchObject({ changes: [{ issues: [{ message: problem }] }] });
  expect(readdirSync(outside)).toEqual(['spec.md']);
});

test('a spec of a change that is a link is an error', async () => {
  const project = withDelta(good);
  mkdirSync(project.path(`${folder}/specs/linked`));
  symlinkSync('/etc/passwd', project.path(`${folder}/specs/linked/spec.md`));
  const { code, stdout } = await project.spool('validate', change);
  expect(code).toBe(1);
  expect(stdout).toContain('error    It is a link, which is not followed.');
});

test('a main spec that is not UTF-8 is not rewritten', async () => {
  const project = withDelta(good);
  const bytes = Buffer.concat([Buffer.from(standardMain), Buffer.from([0xe9, 0x0a])]);
  writeFileSync(project.path(main), bytes);
  expect(await project.spool('archive', change)).toMatchObject({
    code: 2,
    stderr: `spool: ${main} is not UTF-8. Convert it and try again.\n`,
  });
  const message = `${main} is not UTF-8. Convert it and try again.`;
  const validated = await project.spool('validate', change, '--json');
  expect(validated).toMatchObject({ code: 1, stderr: '' });
  expect(JSON.parse(validated.stdout)).toMatchObject({
    valid: false,
    changes: [{ change, issues: [{ level: 'error', file: folder, line: null, message }] }],
  });
});

test('validate lists problems by file and line, and fails on errors', async () => {
  const project = withDelta(bad, {
    [`${folder}/tasks.md`]: '# Tasks\n\n- Do it\n',
    [`${folder}/.spool.yaml`]: '# Settings\n"retire_capabilities": maybe\nskip_specs: off # not YAML 1.2\n',
  });
  const { code, stdout, stderr } = await project.spool('validate', change);
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  expect(stdout).toBe(
    [
      `${folder}/.spool.yaml`,
      '  2  info     "retire_capabilities" must be true or false.',
      '  3  error    "skip_specs" must be true or false.',
      `${folder}/specs/auth/spec.md`,
      '  3  error    ADDED: "One" has no scenario. Add "#### Scenario: …" with steps below it.',
      '  8  error    ADDED: "Two" has no scenario. Add "#### Scenario: …" with steps below it.',
      `${folder}/tasks.md`,
      '  3  warning  No item of this list has a box, so none is a task. Write tasks as "- [ ] …".',
      '',
      `${change}: 3 errors, 1 warning, 1 note`,
      '',
    ].join('\n'),
  );
});

test('validate fails on warnings only if it is strict', async () => {
  const project = withDelta(good.replace('SHALL support Code', 'supports Code'));
  expect(await project.spool('validate', change)).toMatchObject({ code: 0 });
  expect(await project.spool('validate', change, '--strict')).toMatchObject({ code: 1 });
});

test('validate without a change checks all changes and the main specs', async () => {
  const other = '.spool/changes/001-01_other/specs/auth/spec.md';
  const project = withDelta(good, { [other]: bad, '.spool/specs/old/spec.md': '# old\n' });
  for (const args of [['validate'], ['validate', '--all']]) {
    const { code, stdout } = await project.spool(...args);
    expect(code).toBe(1);
    expect(stdout).toContain(`${other}\n`);
    expect(stdout).toContain('.spool/specs/old/spec.md\n  -  error    There is no purpose.');
    expect(stdout).toMatch(/\n2 changes and the main specs: 4 errors\n$/);
  }
  const result = JSON.parse((await project.spool('validate', '--json')).stdout) as object;
  expect(result).toMatchObject({
    valid: false,
    changes: [
      { change: '001-01_other', issues: [{ level: 'error', file: other, line: 3 }, {}] },
      { change, issues: [] },
    ],
    specs: [{ level: 'error', file: '.spool/specs/old/spec.md', line: null }, {}],
  });
  expect(await project.spool('validate', change, '--all')).toMatchObject({ code: 2 });
});

test('validate asks for a change on a terminal', async () => {
  const project = withDelta(good, { '.spool/changes/001-01_other/proposal.md': '# Other\n\nDo it.\n' });
  const terminal = openTerminal(project, ['validate']);
  await terminal.shows('Which change?');
  terminal.type(' \r');
  expect(await terminal.exitCode).toBe(0);
  expect(terminal.screen()).toContain('001-01_other: no problems');
});

test('a change without specs is valid and can be archived', async () => {
  const project = createProject();
  expect(await project.spool('validate', change)).toMatchObject({ code: 0, stdout: `${change}: no problems\n` });
  expect(await project.spool('archive', change)).toMatchObject({ code: 0 });
});

test('a run warns about errors in the specs, at most three, and runs', async () => {
  const many = `## ADDED Requirements\n\n${['A', 'B', 'C', 'D', 'E'].map((name) => requirement(name, '')).join('\n')}`;
  const project = withDelta(many);
  const { code, stderr } = await project.spool('ralph', '--change', change);
  expect(code).toBe(0);
  expect(stderr.match(/has no scenario/g)).toHaveLength(3);
  expect(stderr).toContain(`${folder}/specs/auth/spec.md:3: ADDED: "A" has no scenario.`);
  expect(stderr).toContain(
    `The change cannot be archived with these and 2 more errors. See: spool validate ${change}\n`,
  );
  const valid = await withDelta(good).spool('ralph', '--change', change);
  expect(valid.stderr).not.toContain('spool validate');
});
