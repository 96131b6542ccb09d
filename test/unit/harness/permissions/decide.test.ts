import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decidePermission,
  optionFor,
  type PermissionPolicy,
  type PermissionRequest,
} from '../../../../src/harness/permissions/decide.ts';
import { type PermissionRule, parseRule, type ToolKind } from '../../../../src/harness/permissions/rule.ts';

const root = '/home/dev/app';

const rule = (text: string): PermissionRule => {
  const parsed = parseRule(text);
  if (typeof parsed === 'string') throw new Error(`${text} ${parsed}`);
  return parsed;
};

interface Rules {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly allowAll?: boolean;
}

const policy = ({ allow = [], deny = [], allowAll = false }: Rules): PermissionPolicy => ({
  root,
  home: '/home/me',
  allowAll,
  allow: allow.map(rule),
  deny: deny.map(rule),
});

const request = (kind: ToolKind, facts: Partial<PermissionRequest> = {}): PermissionRequest => ({
  kind,
  tool: kind,
  title: '',
  paths: [],
  command: null,
  ...facts,
});

const runs = (command: string) => request('execute', { tool: 'bash', command });
const edits = (...paths: string[]) => request('edit', { paths });
const reads = (...paths: string[]) => request('read', { paths });
/** A request about folders. */
const onFolders = (kind: ToolKind, ...paths: string[]) => request(kind, { paths, folders: paths });
const decide = (asked: PermissionRequest, rules: Rules) => decidePermission(asked, policy(rules));

describe('without rules', () => {
  const rows: [string, PermissionRequest, 'allow' | 'deny', suggestion: string | null][] = [
    ['reading a file of the project', reads(`${root}/src/a.ts`), 'allow', null],
    ['reading the project itself', reads(root), 'allow', null],
    ['searching in the project', request('search', { paths: [`${root}/src`] }), 'allow', null],
    [
      'searching in a folder with .env',
      request('search', { paths: [`${root}/web`], secretFolders: [`${root}/web`] }),
      'deny',
      'Read(./web)',
    ],
    ['searching nowhere in particular', request('search'), 'deny', 'Read'],
    ['thinking', request('think'), 'allow', null],
    ['reading a file outside', reads('/etc/passwd'), 'deny', 'Read(//etc/passwd)'],
    ['reading a folder with the same start', reads('/home/dev/app2/a'), 'deny', 'Read(//home/dev/app2/a)'],
    ['reading one inside and one outside', reads(`${root}/a`, '/etc/hosts'), 'deny', 'Read(//etc/hosts)'],
    ['reading .env', reads(`${root}/.env`), 'deny', 'Read(./.env)'],
    ['reading .env.local in a folder', reads(`${root}/web/.env.local`), 'deny', 'Read(./web/.env.local)'],
    ['reading .ENV', reads(`${root}/.ENV`), 'deny', 'Read(./.ENV)'],
    ['reading .env.example', reads(`${root}/.env.example`), 'allow', null],
    ['editing', edits(`${root}/src/a.ts`), 'deny', 'Edit(./src/a.ts)'],
    ['editing a file at the top', edits(`${root}/a*.md`), 'deny', 'Edit(./a?.md)'],
    ['editing without a path', edits(), 'deny', 'Edit'],
    ['deleting', request('delete', { paths: [`${root}/a`] }), 'deny', 'Delete(./a)'],
    ['moving', request('move', { paths: [`${root}/a`, `${root}/b`] }), 'deny', 'Edit(./a)'],
    ['a command', runs('npm test'), 'deny', 'Bash(npm test)'],
    [
      'a command with quotes',
      runs(`git commit -m "it's done"`),
      'deny',
      String.raw`Bash(git commit -m 'it'\''s done')`,
    ],
    ['a command with an expansion', runs('echo $HOME'), 'deny', 'Bash(echo *)'],
    ['a command that is not known', request('execute'), 'deny', 'Bash'],
    [
      'a command that claims to read',
      request('read', { command: 'cat a', paths: [`${root}/a`] }),
      'deny',
      'Bash(cat a)',
    ],
    ['a command that claims to think', request('think', { command: 'rm a' }), 'deny', 'Bash(rm a)'],
    ['a command that writes', runs('echo a > b'), 'deny', 'Bash'],
    ['a command that cannot be parsed', runs('echo "a'), 'deny', 'Bash'],
    ['fetching', request('fetch', { url: 'https://Example.com/x' }), 'deny', 'WebFetch(domain:example.com)'],
    ['fetching from an unknown address', request('fetch'), 'deny', 'WebFetch'],
    ['switching the mode', request('switch_mode', { tool: 'exit_plan' }), 'deny', 'Tool(exit_plan)'],
    ['another tool', request('other', { tool: 'mcp__db__query' }), 'deny', 'Tool(mcp__db__query)'],
  ];
  test.each(rows)('%s', (_, asked, outcome, suggestion) => {
    expect(decide(asked, {})).toMatchObject({ outcome, suggestion, rule: null });
  });

  test.each(rows.filter(([, , outcome, suggestion]) => outcome === 'deny' && suggestion !== null))(
    'the suggested rule allows %s',
    (_, asked, __, suggestion) => {
      // Several paths or commands may need several rules.
      const rules = [suggestion!];
      for (let steps = 0; steps < 3; steps++) {
        const next = decide(asked, { allow: rules });
        if (next.outcome === 'deny') rules.push(next.suggestion!);
      }
      expect(decide(asked, { allow: rules }).outcome).toBe('allow');
    },
  );

  test.each(rows)('--allow-all allows %s', (_, asked) => {
    expect(decide(asked, { allowAll: true })).toEqual({
      outcome: 'allow',
      rule: null,
      reason: '--allow-all',
      suggestion: null,
    });
  });
});

describe('allow rules for paths', () => {
  const rows: [string, PermissionRequest, 'allow' | 'deny'][] = [
    ['Edit', edits('/etc/hosts'), 'allow'],
    ['Edit(**)', edits(`${root}/src/a.ts`), 'allow'],
    ['Edit(**)', edits('/etc/hosts'), 'deny'],
    ['Edit(src/**)', edits(`${root}/src/deep/a.ts`), 'allow'],
    ['Edit(src/**)', edits(`${root}/src`), 'deny'],
    ['Edit(src/**)', edits(`${root}/lib/src/a.ts`), 'deny'],
    ['Edit(src/**)', edits(`${root}/src-old/a.ts`), 'deny'],
    ['Edit(src/**)', edits(`${root}/SRC/a.ts`), 'deny'],
    ['Edit(src)', edits(`${root}/src/a.ts`), 'allow'],
    ['Edit(src/)', edits(`${root}/src/a.ts`), 'allow'],
    ['Edit(*.md)', edits(`${root}/docs/a.md`), 'allow'],
    ['Edit(*.md)', edits(`${root}/docs/a.md.sh`), 'deny'],
    ['Edit(./*.md)', edits(`${root}/docs/a.md`), 'deny'],
    ['Edit(./*.md)', edits(`${root}/a.md`), 'allow'],
    ['Edit(src/*/a.ts)', edits(`${root}/src/x/a.ts`), 'allow'],
    ['Edit(src/*/a.ts)', edits(`${root}/src/x/y/a.ts`), 'deny'],
    ['Edit(src/**/a.ts)', edits(`${root}/src/a.ts`), 'allow'],
    ['Edit(src/**/a.ts)', edits(`${root}/src/x/y/a.ts`), 'allow'],
    ['Edit(app/[id]/a.ts)', edits(`${root}/app/[id]/a.ts`), 'allow'],
    ['Edit(app/[id]/a.ts)', edits(`${root}/app/i/a.ts`), 'deny'],
    ['Edit(src/**)', edits(`${root}/src/a.ts`, '/etc/hosts'), 'deny'],
    ['Edit(src/**)', request('delete', { paths: [`${root}/src/a`] }), 'allow'],
    ['Delete(src/**)', edits(`${root}/src/a`), 'deny'],
    ['Delete(src/**)', request('delete', { paths: [`${root}/src/a`] }), 'allow'],
    ['Edit(//tmp/x/**)', reads('/tmp/x/a'), 'allow'],
    ['Read(//tmp/x/**)', edits('/tmp/x/a'), 'deny'],
    ['Read(//tmp/**)', request('search', { paths: ['/tmp'] }), 'allow'],
    ['Read(//tmp/*.txt)', request('search', { paths: ['/tmp'] }), 'deny'],
    ['Read(~/notes/**)', reads('/home/me/notes/a'), 'allow'],
    ['Read(~/notes/**)', reads('/home/you/notes/a'), 'deny'],
    ['Read(~)', reads('/home/me/a'), 'allow'],
    ['Read(//)', reads('/etc/passwd'), 'allow'],
    ['Edit(src/**)', request('other', { tool: 'write', paths: [`${root}/src/a`] }), 'deny'],
    ['Edit(src/**)', request('edit', { paths: [`${root}/src/a`], command: 'rm a' }), 'deny'],
    ['Edit(caf\u00e9.md)', edits(`${root}/cafe\u0301.md`), 'allow'],
  ];
  test.each(rows)('%s %j: %s', (text, asked, outcome) => {
    const { rule: by, ...decision } = decide(asked, { allow: [text] });
    expect(decision.outcome).toBe(outcome);
    if (outcome === 'allow') expect(by).toBe(text);
  });
});

describe('allow rules for commands', () => {
  const test1 = 'Bash(npm test:*)';
  const rows: [string, string, 'allow' | 'deny'][] = [
    [test1, 'npm test', 'allow'],
    [test1, 'npm  test   --watch=false', 'allow'],
    [test1, '"npm" te"st" -- x', 'allow'],
    [test1, `cd ${root} && npm test`, 'allow'],
    [test1, 'cd . && npm test', 'allow'],
    [test1, 'npm test && npm test a', 'allow'],
    [test1, 'npm test | npm test', 'allow'],
    [test1, 'npm test 2>&1', 'allow'],
    [test1, 'npm test > /dev/null 2>&1', 'allow'],
    [test1, 'npm test < input', 'allow'],
    [test1, 'npm test $ARGS', 'allow'],
    [test1, 'if npm test; then npm test a; fi', 'allow'],
    [test1, 'npm test # && rm -rf x', 'allow'],
    [test1, 'npm test "a && b"', 'allow'],
    ['Bash(npm test *)', 'npm test', 'allow'],
    ['Bash(npm test)', 'npm test a', 'deny'],
    ['Bash(npm run build*)', 'npm run build:web', 'allow'],
    ['Bash(*)', 'rm -rf / $(x', 'allow'],
    ['Bash', 'rm -rf / $(x', 'allow'],
    ['Bash(git * main)', 'git checkout main', 'allow'],
    [`Bash(git commit -m 'a b')`, 'git commit -m "a b"', 'allow'],
    // Attempts to run something else.
    [test1, 'npm tests', 'deny'],
    [test1, 'npm testx', 'deny'],
    [test1, 'npm', 'deny'],
    [test1, 'npm test && rm -rf x', 'deny'],
    [test1, 'npm test || rm -rf x', 'deny'],
    [test1, 'npm test; rm -rf x', 'deny'],
    [test1, 'npm test & rm -rf x', 'deny'],
    [test1, 'npm test | sh', 'deny'],
    [test1, 'npm test |& sh', 'deny'],
    [test1, 'npm test\nrm -rf x', 'deny'],
    [test1, 'npm test\r\nrm -rf x', 'deny'],
    [test1, 'rm -rf x # npm test', 'deny'],
    [test1, 'npm test $(rm -rf x)', 'deny'],
    [test1, 'npm test "$(rm -rf x)"', 'deny'],
    [test1, 'npm test `rm -rf x`', 'deny'],
    [test1, 'npm test "`rm -rf x`"', 'deny'],
    [test1, 'npm test <(rm -rf x)', 'deny'],
    [test1, 'npm test >(rm -rf x)', 'deny'],
    [test1, 'npm test ${x:-$(rm -rf x)}', 'deny'],
    [test1, 'npm test $((a[$(rm -rf x)]))', 'deny'],
    [test1, 'npm test ${x@P}', 'deny'],
    [test1, 'npm test ${!x}', 'deny'],
    [test1, 'npm test <<EOF\n$(rm -rf x)\nEOF', 'deny'],
    [test1, 'npm test <<< "$(rm -rf x)"', 'deny'],
    [test1, 'npm test > ~/.bashrc', 'deny'],
    [test1, 'npm test >> .git/hooks/pre-commit', 'deny'],
    [test1, 'npm test &> x', 'deny'],
    [test1, 'npm test >| x', 'deny'],
    [test1, 'npm test <> x', 'deny'],
    [test1, 'npm test >& x', 'deny'],
    [test1, '{ npm test; } > x', 'deny'],
    [test1, 'PATH=/evil npm test', 'deny'],
    [test1, 'PATH=/evil; npm test', 'deny'],
    [test1, 'NODE_OPTIONS=--require=/evil.js npm test', 'deny'],
    [test1, 'export PATH=/evil; npm test', 'deny'],
    [test1, 'npm() { rm -rf x; }; npm test', 'deny'],
    [test1, 'function npm { rm -rf x; }; npm test', 'deny'],
    [test1, 'alias npm=rm; npm test', 'deny'],
    [test1, 'cd /evil && npm test', 'deny'],
    [test1, 'cd .. && npm test', 'deny'],
    [test1, 'cd $X && npm test', 'deny'],
    [test1, './npm test', 'deny'],
    [test1, '/evil/npm test', 'deny'],
    [test1, '"npm test"', 'deny'],
    [test1, 'npm\ttest\u00a0x', 'deny'],
    [test1, '$X npm test', 'deny'],
    [test1, '$npm test', 'deny'],
    [test1, '{npm,rm} test', 'deny'],
    [test1, 'npm test *(e:"rm x":)', 'deny'],
    [test1, 'npm test "unfinished', 'deny'],
    [test1, 'npm test \0 x', 'deny'],
    [test1, `npm test ${'x'.repeat(200_000)}`, 'deny'],
    [test1, 'eval npm test', 'deny'],
    [test1, 'sudo npm test', 'deny'],
    [test1, 'time npm test; x', 'deny'],
    [test1, 'coproc rm x; npm test', 'deny'],
    [test1, 'case x in x) rm y;; esac; npm test', 'deny'],
    [test1, 'for i in 1 2; do npm test; rm x; done', 'deny'],
    [test1, '[[ -n $(rm x) ]] && npm test', 'deny'],
    [test1, '', 'deny'],
    [test1, '# nothing', 'deny'],
    [test1, `cd ${root}`, 'deny'],
  ];
  test.each(rows)('%s: %j is %s', (text, command, outcome) => {
    expect(decide(runs(command), { allow: [text] }).outcome).toBe(outcome);
  });
});

describe('deny rules', () => {
  const noRm = 'Bash(rm:*)';
  const rows: [string, PermissionRequest, 'allow' | 'deny'][] = [
    [noRm, runs('ls'), 'allow'],
    ['Edit', request('other', { tool: 'save', paths: [`${root}/a`] }), 'deny'],
    ['Edit', request('other', { tool: 'mcp__db__query' }), 'allow'],
    ['WebFetch', request('other', { tool: 'browse', url: 'https://a.example' }), 'deny'],
    ['WebFetch', request('other', { tool: 'browse' }), 'allow'],
    [noRm, runs('echo "rm x"'), 'allow'],
    [noRm, runs('echo $(date)'), 'allow'],
    [noRm, runs('cat <<EOF\nrm x\nEOF'), 'allow'],
    [noRm, runs('for f in *; do echo "$f"; done'), 'allow'],
    [noRm, runs('f() { ls; }; f'), 'allow'],
    [noRm, runs('rmdir x'), 'allow'],
    ['Bash(rm*)', runs('rmdir x'), 'deny'],
    [noRm, runs('rm x'), 'deny'],
    [noRm, runs('/bin/rm x'), 'deny'],
    [noRm, runs('ls && rm x'), 'deny'],
    [noRm, runs(String.raw`\rm x`), 'deny'],
    [noRm, runs('r""m x'), 'deny'],
    [noRm, runs(`$'\\x72m' x`), 'deny'],
    [noRm, runs('X=1 rm x'), 'deny'],
    [noRm, runs('rm x > log'), 'deny'],
    [noRm, runs('echo $(rm x)'), 'deny'],
    [noRm, runs('f() { rm x; }; f'), 'deny'],
    [noRm, runs('sudo -u root /bin/rm x'), 'deny'],
    [noRm, runs('env A=1 rm x'), 'deny'],
    [noRm, runs('ls | xargs -n 1 rm'), 'deny'],
    [noRm, runs('find . -name x -exec rm {} +'), 'deny'],
    [noRm, runs('bash -lc "ls; rm x"'), 'deny'],
    [noRm, runs(`sh -c 'sh -c "rm x"'`), 'deny'],
    [noRm, runs('tcsh -c "rm x"'), 'deny'],
    [noRm, runs('sudo sh -c "rm x"'), 'deny'],
    [noRm, runs('eval "rm x"'), 'deny'],
    [noRm, runs('eval "$X"'), 'deny'],
    [noRm, runs('sh -c "$X"'), 'deny'],
    [noRm, runs('$X y'), 'deny'],
    [noRm, runs('$(echo rm) y'), 'deny'],
    [noRm, runs('{rm,x}'), 'deny'],
    [noRm, runs('echo "a'), 'deny'],
    [noRm, request('execute'), 'deny'],
    ['Bash(git push:*)', runs('git commit -m "$X"'), 'allow'],
    ['Bash(git push:*)', runs('git $X'), 'deny'],
    ['Bash', runs('ls'), 'deny'],
    ['Bash', request('read', { command: 'cat x' }), 'deny'],
    ['Edit(.env)', edits(`${root}/.env`), 'deny'],
    ['Edit(.env)', edits(`${root}/deep/.ENV`), 'deny'],
    ['Edit(.env)', edits(`${root}/a`), 'allow'],
    ['Edit(.env)', reads(`${root}/.env`), 'allow'],
    ['Edit(.env)', edits(), 'deny'],
    ['Edit(.env)', request('move', { paths: [`${root}/a`, `${root}/.env`] }), 'deny'],
    ['Edit(.env)', request('edit', { paths: [`${root}/target`], namedPaths: [`${root}/.env`] }), 'deny'],
    ['Edit(.env)', request('other', { tool: 'mcp__fs__write', paths: [`${root}/.env`] }), 'deny'],
    // A folder is all that is in it.
    ['Delete(src/**)', onFolders('delete', `${root}/src`), 'deny'],
    ['Delete(src/**)', onFolders('delete', root), 'deny'],
    ['Delete(src/**)', onFolders('delete', '/home'), 'deny'],
    ['Delete(src/**)', onFolders('delete', `${root}/lib`), 'allow'],
    ['Delete(src/**)', onFolders('move', `${root}/src`), 'allow'],
    ['Move(src/**)', onFolders('move', `${root}/src`), 'deny'],
    ['Edit(src/keep/x)', onFolders('delete', `${root}/src`), 'deny'],
    ['Edit(src/keep/x)', onFolders('move', `${root}/SRC`, `${root}/lib`), 'deny'],
    ['Edit(src/keep/x)', onFolders('delete', `${root}/src/other`), 'allow'],
    ['Edit(src/*/x)', onFolders('delete', `${root}/src/other`), 'deny'],
    ['Edit(.env)', onFolders('delete', root), 'deny'],
    ['Edit(.env)', request('delete', { paths: [`${root}/a.ts`] }), 'allow'],
    ['Edit(//etc/hosts)', onFolders('delete', root), 'allow'],
    ['Edit(~/notes/**)', onFolders('delete', '/home/me'), 'deny'],
    ['Read(.env)', onFolders('search', `${root}/src`), 'deny'],
    ['Read(src/secret)', onFolders('search', `${root}/lib`), 'allow'],
    ['Edit(.git)', edits(`${root}/.git/hooks/pre-commit`), 'deny'],
    ['Edit(**)', edits(`${root}/a`), 'deny'],
    ['Edit(**)', edits('/tmp/a'), 'allow'],
    ['Read(~/.ssh)', reads('/home/me/.ssh/id_ed25519'), 'deny'],
    ['Read(//etc/**)', reads('/etc/passwd'), 'deny'],
    ['WebFetch', request('fetch', { url: 'https://a.example' }), 'deny'],
    ['WebFetch(domain:evil.example)', request('fetch', { url: 'https://EVIL.example./x' }), 'deny'],
    ['WebFetch(domain:evil.example)', request('fetch', { url: 'https://good.example/evil.example' }), 'allow'],
    ['WebFetch(domain:evil.example)', request('fetch', { url: 'https://evil.example@good.example' }), 'allow'],
    ['WebFetch(domain:*.evil.example)', request('fetch', { url: 'https://a.evil.example' }), 'deny'],
    ['WebFetch(domain:evil.example)', request('fetch'), 'deny'],
    ['mcp__github__*', request('other', { tool: 'mcp__github__merge' }), 'deny'],
    ['mcp__github__*', request('edit', { tool: 'MCP__GitHub__merge', paths: [`${root}/a`] }), 'deny'],
    ['Tool(write)', request('other', { tool: 'write_file' }), 'allow'],
  ];
  test.each(rows)('%s %j: %s, although everything else is allowed', (text, asked, outcome) => {
    const decision = decide(asked, { deny: [text], allowAll: true });
    expect(decision.outcome).toBe(outcome);
    if (outcome === 'deny') expect(decision).toMatchObject({ rule: text, suggestion: null });
    // Deny wins over allow, in any order.
    const everything = ['Bash', 'Edit', 'Read', 'WebFetch', 'Tool(*)'];
    expect(decide(asked, { deny: [text], allow: everything }).outcome).toBe(outcome);
  });
});

describe('requests that say two things', () => {
  const both = { allow: ['Bash(npm test)', 'Edit(src/**)'] };
  const rows: [string, PermissionRequest, Rules, 'allow' | 'deny', rule: string | null][] = [
    ['two commands', request('execute', { command: 'npm test', otherCommands: ['rm x'] }), both, 'deny', null],
    [
      'the same rule',
      request('execute', { command: 'npm test', otherCommands: ['npm test'] }),
      both,
      'allow',
      'Bash(npm test)',
    ],
    [
      'a denied one',
      request('execute', { command: 'a', otherCommands: ['rm x'] }),
      { deny: ['Bash(rm:*)'] },
      'deny',
      'Bash(rm:*)',
    ],
    ['two kinds', request('read', { otherKinds: ['edit'], paths: [`${root}/a`] }), both, 'deny', null],
    [
      'a kind that is denied',
      request('think', { otherKinds: ['edit'], paths: [`${root}/a`] }),
      { deny: ['Edit'] },
      'deny',
      'Edit',
    ],
    [
      'two allowed kinds',
      request('edit', { otherKinds: ['read'], paths: [`${root}/src/a`] }),
      both,
      'allow',
      'Edit(src/**)',
    ],
    ['unclear paths', request('edit', { paths: [`${root}/src/a`], unclearPaths: 'x' }), both, 'deny', null],
    ['unclear paths, everything', request('edit', { unclearPaths: 'x' }), { allow: ['Edit'] }, 'allow', 'Edit'],
    [
      'unclear paths, denied',
      request('edit', { unclearPaths: 'x' }),
      { allow: ['Edit'], deny: ['Edit(.env)'] },
      'deny',
      'Edit(.env)',
    ],
    ['a thought about a file', request('think', { paths: [`${root}/a`] }), {}, 'deny', null],
  ];
  test.each(rows)('%s', (_, asked, rules, outcome, by) => {
    expect(decide(asked, rules)).toMatchObject({ outcome, rule: by });
  });
});

describe('allow rules for hosts and tools', () => {
  const rows: [string, PermissionRequest, 'allow' | 'deny'][] = [
    ['WebFetch', request('fetch'), 'allow'],
    ['WebFetch(domain:example.com)', request('fetch', { url: 'https://example.com:8080/x' }), 'allow'],
    ['WebFetch(domain:example.com)', request('fetch', { url: 'https://a.example.com' }), 'deny'],
    ['WebFetch(domain:example.com)', request('fetch', { url: 'https://example.com.evil.example' }), 'deny'],
    ['WebFetch(domain:example.com)', request('fetch', { url: 'https://example.com@evil.example' }), 'deny'],
    ['WebFetch(domain:example.com)', request('fetch', { url: 'example.com' }), 'deny'],
    ['WebFetch(domain:*.example.com)', request('fetch', { url: 'https://a.example.com' }), 'allow'],
    ['WebFetch(domain:*.example.com)', request('fetch', { url: 'https://aexample.com' }), 'deny'],
    ['mcp__db__*', request('other', { tool: 'mcp__db__query' }), 'allow'],
    ['mcp__db__*', request('other', { tool: 'mcp__DB__query' }), 'deny'],
    ['Tool(query)', request('other', { tool: 'other', title: 'query' }), 'deny'],
  ];
  test.each(rows)('%s %j: %s', (text, asked, outcome) => {
    expect(decide(asked, { allow: [text] }).outcome).toBe(outcome);
  });
});

describe('properties', () => {
  const words = fc.constantFrom('npm', 'test', 'rm', '-rf', 'x', '"a b"', "'c'", '$X', '$(rm x)', '`rm`', '\\', '"');
  const operators = fc.constantFrom(
    ' ',
    ' && ',
    ' || ',
    ';',
    '|',
    '&',
    '\n',
    ' > ',
    ' < ',
    '<<',
    '(',
    ')',
    '{ ',
    '; }',
    '#',
  );
  const command = fc
    .array(fc.oneof({ weight: 3, arbitrary: words }, operators), { maxLength: 12 })
    .map((parts) => parts.join(' '));

  test('an allowed command contains nothing that another rule denies', () => {
    fc.assert(
      fc.property(command, (text) => {
        const allowed = decide(runs(text), { allow: ['Bash(npm:*)'] }).outcome === 'allow';
        if (allowed) expect(decide(runs(text), { allowAll: true, deny: ['Bash(rm:*)'] }).outcome).toBe('allow');
      }),
      { numRuns: 3000 },
    );
  });

  test('a command that follows an allowed one is never allowed with it', () => {
    const separator = fc.constantFrom('&&', '||', ';', '|', '&', '\n', '\r\n', '|&');
    const argument = fc.string({ maxLength: 8, unit: 'grapheme-ascii' });
    fc.assert(
      fc.property(separator, argument, (between, given) => {
        const text = `npm test '${given.replaceAll("'", '')}'${between} rm -rf x`;
        expect(decide(runs(text), { allow: ['Bash(npm test:*)'] }).outcome).toBe('deny');
      }),
    );
  });

  test('no path outside of a folder is allowed by a rule for it', () => {
    const name = fc.constantFrom('src', 'lib', 'a.ts', '..', '.', 'SRC', 'src2', '*', '');
    fc.assert(
      fc.property(fc.array(name, { maxLength: 6 }), (names) => {
        // Paths are resolved before.
        const path = names.reduce(
          (at, each) =>
            each === '..' ? at.replace(/\/[^/]*$/, '') || '/' : each === '.' || each === '' ? at : `${at}/${each}`,
          root,
        );
        const outcome = decide(edits(path), { allow: ['Edit(src/**)'] }).outcome;
        expect(outcome).toBe(path.startsWith(`${root}/src/`) ? 'allow' : 'deny');
      }),
    );
  });

  test('a deny rule never allows more, and an allow rule never less', () => {
    const rules = fc.subarray(['Bash(rm:*)', 'Bash(npm:*)', 'Edit(src/**)', 'Read', 'Bash', 'Edit(*.md)', 'Tool(x)']);
    const asked = fc.oneof(
      command.map(runs),
      fc.constantFrom(edits(`${root}/src/a.md`), reads('/etc/x'), request('other', { tool: 'x' })),
    );
    fc.assert(
      fc.property(rules, rules, asked, (allow, deny, each) => {
        const strict = decide(each, { allow, deny }).outcome;
        if (strict === 'allow') expect(decide(each, { allow }).outcome).toBe('allow');
        if (decide(each, {}).outcome === 'allow') expect(decide(each, { allow }).outcome).toBe('allow');
      }),
    );
  });
});

describe('optionFor', () => {
  const options = [
    { optionId: 'a', kind: 'allow_always', name: 'reject_once' },
    { optionId: 'b', kind: 'allow_once', name: 'Always allow' },
    { optionId: 'c', kind: 'reject_always', name: 'x' },
    { optionId: 'd', kind: 'reject_once', name: 'allow_once' },
  ];
  test.each([
    ['allow', options, { outcome: 'selected', optionId: 'b' }],
    ['deny', options, { outcome: 'selected', optionId: 'd' }],
    ['allow', [options[0]!], { outcome: 'cancelled' }],
    ['deny', options.slice(0, 3), { outcome: 'cancelled' }],
    ['deny', [], { outcome: 'cancelled' }],
    // The same id for two kinds.
    ['deny', [{ optionId: 'b', kind: 'reject_once' }, options[1]!], { outcome: 'cancelled' }],
    ['allow', [options[1]!, { optionId: 'b', kind: 'allow_always' }], { outcome: 'cancelled' }],
    ['deny', [options[3]!, options[3]!], { outcome: 'selected', optionId: 'd' }],
  ] as const)('%s', (outcome, given, expected) => {
    expect(optionFor({ outcome }, given)).toEqual(expected);
  });
});
