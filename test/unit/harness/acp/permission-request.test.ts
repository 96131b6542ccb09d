import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { permissionRequest } from '../../../../src/harness/acp/permission-request.ts';
import { rulesOf } from '../../../../src/harness/permissions/rule.ts';
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

describe('answers', () => {
  const policyOf = ({ allow = [], deny = [] }: { allow?: string[]; deny?: string[] }) => ({
    ...rulesOf({ allow, deny }),
    root,
    home: null,
    allowAll: deny.length > 0,
  });
  const edit = (rawInput: object, more: object = {}) => ({ kind: 'edit', rawInput, ...more });
  const move = (to: object) => ({ kind: 'move', rawInput: { path: 'src/a', ...to } });
  const run = (rawInput: object) => ({ kind: 'execute', rawInput });
  const search = (rawInput: object) => ({ kind: 'search', rawInput });
  const patch = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
  const inSrc = { allow: ['Edit(src/**)'] };
  const test1 = { allow: ['Bash(npm test)'] };
  const rows: [string, { allow?: string[]; deny?: string[] }, unknown, unknown, 'allow' | 'deny'][] = [
    [
      'a folder of a denied file',
      { deny: ['Delete(src/**)'] },
      { kind: 'delete', rawInput: { path: 'src' } },
      null,
      'deny',
    ],
    ['the project', { deny: ['Edit(.env)'] }, { kind: 'delete', rawInput: { path: '.' } }, null, 'deny'],
    ['a search in it', { deny: ['Read(.env)'] }, search({ path: '.', pattern: 'S' }), null, 'deny'],
    ['a read of all', { deny: ['Read(.env)'] }, { kind: 'read', rawInput: { paths: ['**/*'] } }, null, 'deny'],
    // Paths.
    ['an edit', inSrc, edit({ path: 'src/a' }), null, 'allow'],
    ['several edits', inSrc, edit({ path: 'src/a', edits: [{ old_string: 'a', new_string: '/b' }] }), null, 'allow'],
    ['the text of a file', inSrc, edit({ path: 'src/a', file_text: '/etc/hosts' }), null, 'allow'],
    ['in another folder', inSrc, edit({ path: 'src/a', cwd: '/etc' }), null, 'deny'],
    ['in another folder, deep', inSrc, edit({ arguments: { path: 'src/a', workdir: '..' } }), null, 'deny'],
    ['in the folder', inSrc, edit({ path: 'a', cwd: 'src' }), null, 'allow'],
    ['escapes', inSrc, edit({ path: 'file://ROOT/src/%2e%2e/%2e%2e/x' }), null, 'deny'],
    ['a file of another host', inSrc, edit({ path: 'src/a', uri: 'file://host/src/a' }), null, 'deny'],
    ['a wrong escape', inSrc, edit({ path: 'src/a', uri: 'file:///%' }), null, 'deny'],
    ['NUL', inSrc, edit({ path: 'src/a', file: '/etc/ho\0sts' }), null, 'deny'],
    ['NUL and a deny rule', { deny: ['Edit(.env)'] }, edit({ path: 'src/a', file: '.en\0v' }), null, 'deny'],
    [
      'a nested path',
      inSrc,
      edit({ edits: [{ file_path: '/etc/hosts' }] }, { locations: [{ path: 'src/a' }] }),
      null,
      'deny',
    ],
    ['a path as a key', inSrc, edit({ path: 'src/a', changes: { '/etc/hosts': {} } }), null, 'deny'],
    ['a name as a key', inSrc, edit({ path: 'src/a', changes: { Makefile: {} } }), null, 'deny'],
    ['keys that are allowed', inSrc, edit({ changes: { 'src/a': { type: 'add' } } }), null, 'allow'],
    ['a patch', inSrc, edit({ patch: patch('*** Update File: src/a', '+x') }), null, 'allow'],
    ['a patch of another file', inSrc, edit({ path: 'src/a', patch: '*** Update File: /etc/hosts' }), null, 'deny'],
    ['a patch that moves', inSrc, edit({ input: patch('*** Update File: src/a', '*** Move to: b') }), null, 'deny'],
    ['a patch of git', inSrc, edit({ diff: '--- a/src/a\n+++ b/src/a\n@@ -1 +1 @@' }), null, 'allow'],
    ['a patch of git of another file', inSrc, edit({ diff: '--- /dev/null\n+++ b/x\n@@' }), null, 'deny'],
    ['a patch in a shell', inSrc, edit({ path: 'src/a', text: patch('*** Add File: b') }), null, 'deny'],
    ...['to', 'dest', 'destination', 'newName', 'new_name', 'new_path', 'target', 'newUri'].map(
      (key): (typeof rows)[number] => [`a move: ${key}`, inSrc, move({ [key]: '/etc/x' }), null, 'deny'],
    ),
    ['a move in the folder', inSrc, move({ to: 'src/b' }), null, 'allow'],
    // Kinds.
    ['a read, announced as an edit', {}, { kind: 'read', rawInput: { path: 'a' } }, { kind: 'edit' }, 'deny'],
    ['a read with a diff', {}, { kind: 'read', content: [{ type: 'diff', path: 'a' }] }, null, 'deny'],
    ['a thought with a path', {}, { kind: 'think', rawInput: { path: '/etc/hosts' } }, null, 'deny'],
    ['a thought with a diff', {}, { kind: 'think', content: [{ type: 'diff', path: 'src/a' }] }, null, 'deny'],
    ['an edit, announced as a read', inSrc, edit({ path: 'src/a' }), { kind: 'read' }, 'allow'],
    // Searches.
    ['a search', {}, search({ path: 'src', pattern: 'x' }), null, 'allow'],
    ['an absolute pattern', {}, search({ path: 'src', pattern: '/etc/**' }), null, 'deny'],
    ['a pattern that leads out', {}, search({ path: 'src', glob: '../../**' }), null, 'deny'],
    ['a pattern that leads out later', {}, search({ path: 'src', glob: '*/../../../**' }), null, 'deny'],
    ['alternatives that lead out', {}, search({ path: 'src', glob: '{a,/etc}/**' }), null, 'deny'],
    [
      'a pattern that leads to a folder of the project',
      {},
      search({ path: 'src', glob: '../src/*.ts' }),
      null,
      'allow',
    ],
    // Commands.
    ['a command', test1, run({ command: 'npm test', cwd: '.', description: 'x' }), null, 'allow'],
    ['arguments', { allow: ['Bash(npm)'] }, run({ command: 'npm', args: ['publish'] }), null, 'deny'],
    ['denied arguments', { deny: ['Bash(git push:*)'] }, run({ command: 'git', args: ['push', 'x'] }), null, 'deny'],
    ['unknown arguments', { deny: ['Bash(git push:*)'] }, run({ command: 'git', args: [{}] }), null, 'deny'],
    ['variables', test1, run({ command: 'npm test', env: { PATH: '/evil' } }), null, 'deny'],
    ['variables in a list', test1, run({ command: 'npm test', environment: ['PATH=/evil'] }), null, 'deny'],
    ['another command', test1, run({ command: 'npm test' }), run({ command: 'rm -rf x' }), 'deny'],
    ['another denied command', { deny: ['Bash(rm:*)'] }, run({ command: 'ls', cmd: 'rm x' }), null, 'deny'],
    [
      'one of a list',
      { deny: ['Bash(rm:*)'] },
      { kind: 'other', rawInput: { commands: ['ls', 'rm x'] } },
      null,
      'deny',
    ],
    ['a second one in a text', { deny: ['Bash(rm:*)'] }, run({ command: 'cat <<X', cmd: 'rm x' }), null, 'deny'],
    ...['directory', 'dir', 'dir_path', 'working_directory', 'workdir', 'cwd'].map((key): (typeof rows)[number] => [
      `a command in another folder: ${key}`,
      test1,
      run({ command: 'npm test', [key]: '/etc' }),
      null,
      'deny',
    ]),
  ];
  test.each(rows)('%s', (_, rules, asked, announced, outcome) => {
    const inRoot: unknown = JSON.parse(JSON.stringify(asked).replaceAll('file://ROOT', `file://${root}`));
    expect(decidePermission(permissionRequest(inRoot, announced, root), policyOf(rules)).outcome).toBe(outcome);
  });
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
    ['a folder by another key', { rawInput: { command: 'x', dir_path: '/etc' } }, null, { command: 'cd /etc && x' }],
    ['variables', { rawInput: { command: 'x', env: { PATH: '/evil' } } }, null, { command: "PATH='' && x" }],
    ['no variables', { rawInput: { command: 'x', env: {} } }, null, { command: 'x' }],
    ['arguments', { rawInput: { command: 'git', args: ['push', 'a b'] } }, null, { command: "git push 'a b'" }],
    ['arguments as a text', { rawInput: { command: 'git', args: 'push x' } }, null, { command: 'git push x' }],
    ['arguments of another form', { rawInput: { command: 'git', args: [{}] } }, null, { command: '\0' }],
    [
      'two commands',
      { rawInput: { command: 'a', cmd: 'b' } },
      { rawInput: { command: ['sh', '-c', 'c'] } },
      { command: 'a', otherCommands: ['b', 'c'] },
    ],
    ['two kinds', { kind: 'read' }, { kind: 'edit' }, { kind: 'edit', otherKinds: ['read'] }],
    [
      'a diff',
      { kind: 'think', content: [{ type: 'diff', path: 'a' }] },
      null,
      { kind: 'edit', otherKinds: ['think'] },
    ],
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
