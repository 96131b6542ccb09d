import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ralphFolder } from '../../../src/store/paths.ts';
import { transferableFiles, writeTransferred } from '../../../src/store/transfer.ts';
import { userStateFolder } from '../../../src/store/user-state/folder.ts';

const change = '001-01_a';

/** A project with the files of a change, by their path in a transfer. */
const machine = (name: string, files: Record<string, string> = {}) => {
  const base = mkdtempSync(join(tmpdir(), `spool-${name}-`));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const of = { project: { root: join(base, 'project') }, change, env: { HOME: base } };
  mkdirSync(join(of.project.root, '.spool'), { recursive: true });
  const folders = { state: ralphFolder(of.project, change), record: userStateFolder(of.project, change, of.env) };
  const pathOf = (path: string) => {
    const [first, ...rest] = path.split('/');
    return join(folders[first as keyof typeof folders], ...rest);
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(pathOf(path)), { recursive: true, mode: 0o700 });
    writeFileSync(pathOf(path), text);
  }
  return { of, root: of.project.root, read: (path: string) => readFileSync(pathOf(path), 'utf8') };
};

const transfer = (from: ReturnType<typeof machine>, to: ReturnType<typeof machine>): Map<string, Buffer> => {
  const files = new Map(transferableFiles(from.of).map(({ path, read }) => [path, read()!]));
  writeTransferred(to.of, files);
  return files;
};

test('a run is moved to another machine with its history, and its worktree is the one there', () => {
  const one = machine('one');
  const workspace = {
    root: join(one.root, '.spool', 'worktrees', change, 'sub'),
    branch: 'ralph/001-01_a',
    worktree: join(one.root, '.spool', 'worktrees', change),
  };
  const from = machine('from', {
    'state/state.json': JSON.stringify({ run: 'r', workspace }),
    'state/history.jsonl': '{"iteration":1}\n',
    'state/runs/r/workspace': `${workspace.root}\n`,
    'record/runs/r.json': JSON.stringify([{ run: 'r', workspace }]),
    'record/ends': 'r starting\n',
  });
  const to = machine('to');
  transfer(from, to);
  const moved = join(to.root, '.spool', 'worktrees', change);
  expect(JSON.parse(to.read('state/state.json'))).toEqual({
    run: 'r',
    workspace: { root: join(moved, 'sub'), branch: 'ralph/001-01_a', worktree: moved },
  });
  expect(to.read('state/history.jsonl')).toBe('{"iteration":1}\n');
  expect(to.read('state/runs/r/workspace')).toBe(`${join(moved, 'sub')}\n`);
  expect(JSON.parse(to.read('record/runs/r.json'))).toMatchObject([{ workspace: { worktree: moved } }]);
  expect(to.read('record/ends')).toBe('r starting\n');
});

test('secrets in the record of a run, locks and requests stay on their machine', () => {
  const from = machine('from', {
    'state/state.json': '{}',
    'state/lock': 'pid',
    'state/control.jsonl': '{}\n',
    'state/agent/opencode.db': 'data',
    'record/requests': '{}\n',
    'record/runs/r.json': JSON.stringify([
      { run: 'r', gate: { verify: ['curl -u me:hunter22'] }, written: { run: 'r', gate: { verify: ['[redacted]'] } } },
    ]),
  });
  const to = machine('to');
  const files = transfer(from, to);
  expect([...files.keys()].toSorted()).toEqual(['record/runs/r.json', 'state/state.json']);
  expect(files.get('record/runs/r.json')!.toString()).not.toContain('hunter22');
  expect(JSON.parse(to.read('record/runs/r.json'))).toEqual([{ run: 'r', gate: { verify: ['[redacted]'] } }]);
});

test('a path that leads out of the folders is not written', () => {
  const to = machine('to');
  writeTransferred(
    to.of,
    new Map(
      ['state/../escape', 'state/a/../../../b', 'other/c', 'state', 'record/', 'state/x\0y'].map((path) => [
        path,
        Buffer.from('x'),
      ]),
    ),
  );
  expect(transferableFiles(to.of)).toEqual([]);
});
