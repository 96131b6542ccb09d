import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type SourceName, sourceNames } from '../../../src/changes/folders.ts';
import { isPlanning, planningPaths } from '../../../src/changes/planning-paths.ts';
import { claimsOf } from '../../../src/changes/requirements.ts';
import { changeOf, changesOfModule, listArchived, listChanges, resolveChange } from '../../../src/changes/sources.ts';
import { applyArchive, planArchive } from '../../../src/changes/archive/archive.ts';
import { createChange } from '../../../src/changes/spool/create.ts';
import { readTasks } from '../../../src/changes/tasks/read.ts';
import { projectMarker } from '../../../src/files/project-markers.ts';

const id = '002-01_add-login';
const folder = `.spool/changes/${id}`;
const module = '.spool/modules/002_auth';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'spool-source-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (files: Readonly<Record<string, string>>, below = root) => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(below, path)), { recursive: true });
    writeFileSync(join(below, path), text);
  }
};

const everything = {
  [`${folder}/proposal.md`]: '# Login\n',
  [`${folder}/tasks.md`]: '- [x] one\n- [ ] two\n',
  [`${folder}/design.md`]: 'Design.\n',
  [`${folder}/notes/a.md`]: 'Notes.\n',
  [`${folder}/.draft.md`]: 'Draft.\n',
  [`${folder}/specs/login/spec.md`]: '### Requirement: Users  log in\n',
  [`${folder}/specs/.hidden.md`]: '### Requirement: Hidden\n',
  [`${module}/module.md`]: '# Auth\n',
  '.spool/config.json': '{}\n',
};

describe('list', () => {
  test('returns active changes, without archived ones, files, hidden folders and links', async () => {
    write({
      ...everything,
      '.spool/changes/001-01_first/proposal.md': '',
      '.spool/changes/archive/2026-01-02-001-02_old/proposal.md': '',
      '.spool/changes/.hidden/proposal.md': '',
      '.spool/changes/notes.md': '',
      'elsewhere/proposal.md': '',
    });
    symlinkSync(join(root, 'elsewhere'), join(root, '.spool/changes/003-01_link'));

    expect(await listChanges({ root })).toEqual(['001-01_first', id]);
    expect(await listArchived({ root })).toEqual(['001-02_old']);
    expect(await changesOfModule({ root }, '002')).toEqual([id]);
  });

  test('is empty without a folder', async () => {
    expect(await listChanges({ root })).toEqual([]);
    expect(await listArchived({ root })).toEqual([]);
  });
});

describe('resolveChange', () => {
  test('accepts a unique prefix', async () => {
    write(everything);
    expect(await resolveChange({ root }, '002')).toBe(id);
  });

  test('names the folder it searched in the error', async () => {
    await expect(resolveChange({ root }, '009')).rejects.toThrow('No change "009" in .spool/changes.');
  });
});

describe('a change', () => {
  test('has paths that are relative to any root', async () => {
    write(everything);
    expect(await changeOf({ root }, id)).toMatchObject({
      id,
      source: 'spool',
      module: '002',
      folder,
      proposalFile: `${folder}/proposal.md`,
      tasksFile: `${folder}/tasks.md`,
    });
  });

  test('is the same once its folder is gone', async () => {
    expect(await changeOf({ root }, id)).toMatchObject({ id, folder, module: '002' });
  });

  test('has every document that defines the goal, hidden specs included', async () => {
    write(everything);
    const documents = (await changeOf({ root }, id)).documents(root);
    expect(documents.map(({ kind, path, name, isClosed }) => [kind, path, name, isClosed])).toEqual([
      ['proposal', `${folder}/proposal.md`, 'proposal.md', false],
      ['spec', `${folder}/specs/.hidden.md`, '.hidden.md', false],
      ['spec', `${folder}/specs/login/spec.md`, 'login/spec.md', false],
      ['tasks', `${folder}/tasks.md`, 'tasks.md', false],
      ['design', `${folder}/design.md`, 'design.md', false],
      ['module', `${module}/module.md`, 'module.md', true],
      ['context', `${folder}/.spool.yaml`, '.spool.yaml', true],
    ]);
  });

  test('lists documents with a fixed name before they exist', async () => {
    const change = await changeOf({ root }, id);
    const kinds = change.documents(root).map(({ kind }) => kind);
    expect(kinds).toEqual(['proposal', 'tasks', 'context']);
  });

  test('lists its files in reading order, without the proposal and hidden ones', async () => {
    write(everything);
    expect((await changeOf({ root }, id)).files(root)).toEqual([
      { kind: 'spec', name: 'specs/login/spec.md' },
      { kind: 'tasks', name: 'tasks.md' },
      { kind: 'design', name: 'design.md' },
      { kind: 'other', name: 'notes/a.md' },
    ]);
  });

  test('is read from the given root', async () => {
    write(everything);
    const change = await changeOf({ root }, id);
    const worktree = join(root, 'worktree');
    write({ [change.tasksFile]: '- [x] one\n- [x] two\n- [ ] three\n' }, worktree);

    expect(readTasks(change, root)).toHaveLength(2);
    expect(readTasks(change, worktree)).toHaveLength(3);
    expect(readTasks(change, join(root, 'nowhere'))).toBeNull();
    expect(change.files(worktree)).toEqual([{ kind: 'tasks', name: 'tasks.md' }]);
  });

  test('claims the requirements of its specs', async () => {
    write(everything);
    expect([...claimsOf(await changeOf({ root }, id), root)]).toEqual([
      ['.hidden.md: hidden', '.hidden.md: Hidden'],
      ['login: users log in', 'login: Users  log in'],
    ]);
  });
});

describe('planning paths', () => {
  test('are the change, its module and the config file, if they exist', async () => {
    const change = await changeOf({ root }, id);
    expect(planningPaths({ root }, change)).toEqual([]);
    write(everything);
    expect(planningPaths({ root }, change)).toEqual([folder, module, '.spool/config.json']);
  });

  test.each([
    ['.spool', true],
    [`${folder}/tasks.md`, true],
    ['.spool\\config.json', true],
    ['.spoolrc', false],
    ['src/.spool/x', false],
  ])('%s is a planning path: %s', async (path, expected) => {
    expect(isPlanning(await changeOf({ root }, id), path)).toBe(expected);
  });
});

const archive = async (): Promise<string> => {
  const plan = planArchive({ root }, await changeOf({ root }, id), { mergeSpecs: false });
  if ('errors' in plan) throw new Error('It cannot be archived.');
  mkdirSync(join(root, '.spool/.state'), { recursive: true });
  applyArchive({ root }, { HOME: join(root, 'home') }, plan);
  return plan.to;
};

test('an archived change is not active, and its number stays reserved', async () => {
  write(everything);
  const target = await archive();

  expect(target).toMatch(/^\.spool\/changes\/archive\/\d{4}-\d{2}-\d{2}-002-01_add-login$/);
  expect(await listChanges({ root })).toEqual([]);
  expect(await listArchived({ root })).toEqual([id]);
  expect(await createChange({ root }, { module: '002', slug: 'add-logout', issue: null })).toMatchObject({
    id: '002-02_add-logout',
  });
});

test('a change is not archived over an existing one', async () => {
  write(everything);
  await archive();
  write(everything);
  await expect(archive()).rejects.toThrow('already exists');
});

describe('a folder that has nothing but changes of one source is a project', () => {
  const trees: Readonly<Record<SourceName, readonly string[]>> = {
    spool: ['.spool/changes/login/proposal.md'],
    openspec: ['openspec/changes/login/proposal.md'],
    ito: ['.ito/changes/login/proposal.md'],
    'spec-kit': ['specs/login/spec.md', '.specify/memory/constitution.md'],
    kiro: ['.kiro/specs/login/requirements.md'],
  };

  test.each(sourceNames)('%s', async (source) => {
    expect(projectMarker(root)).toBeNull();
    write(Object.fromEntries(trees[source].map((path) => [path, '# Login\n'])));

    expect(projectMarker(root)).not.toBeNull();
    expect(await listChanges({ root }, source)).toEqual(['login']);
  });
});
