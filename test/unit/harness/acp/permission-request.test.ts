import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { permissionRequest } from '../../../../src/harness/acp/permission-request.ts';
import { decidePermission } from '../../../../src/harness/permissions/decide.ts';

let folder = '';
let root = '';
const at = (name: string) => join(root, name);

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'spool-request-')));
  root = join(folder, 'app');
  mkdirSync(join(root, 'src'), { recursive: true });
  writeFileSync(join(folder, 'secret'), '');
  symlinkSync('../secret', at('link'));
  symlinkSync('..', at('up'));
  symlinkSync('../not-yet', at('dangling'));
  symlinkSync('loop', at('loop'));
  symlinkSync(root, join(folder, 'alias'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const reads = (path: string) => ({ kind: 'read', rawInput: { filePath: path } });

describe('paths', () => {
  test('links and ".." are resolved, even of files that do not exist', () => {
    const rows: [string, string][] = [
      ['src/a.ts', at('src/a.ts')],
      ['src/../src/./a.ts', at('src/a.ts')],
      ['../secret', join(folder, 'secret')],
      ['link', join(folder, 'secret')],
      ['up/secret', join(folder, 'secret')],
      ['src/new/../../../x', join(folder, 'x')],
      // Not what the name says: ".." is taken from the target of the link.
      ['up/../x', join(folder, '..', 'x')],
      ['dangling', join(folder, 'not-yet')],
      [join(folder, 'alias/src/a.ts'), at('src/a.ts')],
      [`file://${at('link')}`, join(folder, 'secret')],
      ['~/.ssh/id', join(homedir(), '.ssh/id')],
    ];
    for (const [path, real] of rows) expect(permissionRequest(reads(path), null, root).paths, path).toEqual([real]);
  });

  test('a link to a file outside is not read without a rule, and a denied name is denied', () => {
    const policy = { root, home: null, allowAll: false, allow: [], deny: [] };
    const decide = (path: string) => decidePermission(permissionRequest(reads(path), null, root), policy).outcome;
    expect(['src/a.ts', 'link', 'up/secret', 'dangling', 'loop/x'].map(decide)).toEqual([
      'allow',
      'deny',
      'deny',
      'deny',
      'deny',
    ]);
    const deny = [{ type: 'paths', text: 'Read(link)', name: 'Read', pattern: 'link' }] as const;
    const asked = permissionRequest(reads('link'), null, root);
    expect(decidePermission(asked, { ...policy, allowAll: true, deny })).toMatchObject({ rule: 'Read(link)' });
  });

  test('every path counts: of the input, of the locations and of diffs', () => {
    const call = {
      kind: 'edit',
      locations: [{ path: at('a') }],
      content: [{ type: 'diff', path: at('b'), newText: 'x' }],
      rawInput: { file_path: 'c', paths: ['d', '/e'], source: 'f', destination: 'g', oldText: '/not/a/path' },
    };
    expect(permissionRequest(call, null, root).paths).toEqual([...'abcd'].map(at).concat('/e', at('f'), at('g')));
  });
});

test('folders are known, and whether a search in them would read .env files', () => {
  mkdirSync(at('web/deep'), { recursive: true });
  writeFileSync(at('web/deep/.env.local'), '');
  writeFileSync(at('src/.env.example'), '');
  const search = (path: string) => permissionRequest({ kind: 'search', rawInput: { path, pattern: 'S' } }, null, root);
  expect(search('web')).toMatchObject({ folders: [at('web')], secretFolders: [at('web')] });
  expect(search('src')).toMatchObject({ folders: [at('src')], secretFolders: [] });
  expect(search('src/.env.example')).toMatchObject({ folders: [], secretFolders: [] });
});

describe('kinds, tools and commands', () => {
  const named = (toolName: string, rawInput: object) => ({ kind: 'other', rawInput, _meta: { x: { toolName } } });
  const rows: [string, unknown, unknown, object][] = [
    ['nothing', null, null, { kind: 'other', tool: 'other', paths: [], command: null, url: null, title: '' }],
    ['an unknown kind', { kind: 'destroy' }, null, { kind: 'other' }],
    [
      'a kind and an input that were announced before',
      { kind: 'other', title: 'external_directory', rawInput: {} },
      { kind: 'read', title: 'x', rawInput: { filePath: '/etc/hosts' } },
      { kind: 'read', paths: ['/etc/hosts'], title: 'external_directory' },
    ],
    ['a command', { kind: 'execute', rawInput: { command: 'npm test' } }, null, { command: 'npm test' }],
    ['words', { kind: 'execute', rawInput: { command: ['git', 'log', 'a b'] } }, null, { command: "git log 'a b'" }],
    ['words of a shell', { rawInput: { command: ['/bin/bash', '-lc', 'a && b'] } }, null, { command: 'a && b' }],
    ['more words of a shell', { rawInput: { cmd: ['sh', '-c', 'a', 'b'] } }, null, { command: 'sh -c a b' }],
    ['another folder', { rawInput: { command: 'x', cwd: '/evil dir' } }, null, { command: "cd '/evil dir' && x" }],
    ['the same folder', { rawInput: { command: 'x', workdir: '.' } }, null, { command: 'x' }],
    ['an address', { kind: 'fetch', rawInput: { url: 'https://a.example' } }, null, { url: 'https://a.example' }],
    ['a tool', { _meta: { claudeCode: { toolName: 'mcp__db__query' } } }, null, { tool: 'mcp__db__query' }],
    ['a tool with text of the model', { _meta: { x: { toolName: 'read\nfile' } } }, null, { tool: 'other' }],
    ['a tool of a kind that is not said', named('write', { path: 'a' }), null, { kind: 'edit', tool: 'write' }],
    ['a tool that seems to read', named('read', { path: 'a' }), null, { kind: 'other', tool: 'read' }],
    ['a shell with a long name', { rawInput: { command: ['/bin/tcsh', '-c', 'rm a'] } }, null, { command: 'rm a' }],
    ['a title', { title: 'rm -rf /', kind: 'read' }, null, { tool: 'read', title: 'rm -rf /', command: null }],
  ];
  test.each(rows)('%s', (_, asked, announced, expected) => {
    expect(permissionRequest(asked, announced, root)).toMatchObject(expected);
  });
});
