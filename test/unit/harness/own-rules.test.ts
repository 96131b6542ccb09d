import { describe, expect, test } from 'vitest';
import { claudeRules } from '../../../src/harness/permissions/claude-rules.ts';
import { copilotRules } from '../../../src/harness/permissions/copilot-rules.ts';
import { opencodeRules } from '../../../src/harness/permissions/opencode-rules.ts';
import { environmentOf, ownRulesOf } from '../../../src/harness/permissions/own-rules.ts';
import { qwenRules } from '../../../src/harness/permissions/qwen-rules.ts';
import { parseRule, rulesOf } from '../../../src/harness/permissions/rule.ts';

const roots = { root: '/home/dev/app', home: '/home/me' };
const allow = (...texts: string[]) => rulesOf({ allow: texts, deny: [] });
const deny = (...texts: string[]) => rulesOf({ allow: [], deny: texts });

describe('parseRule', () => {
  const rows: [string, RegExp | null][] = [
    ['Bash', null],
    ['Bash(npm test:*)', null],
    ['Bash(echo (a))', null],
    ['Edit(src/**)', null],
    ['Read(~/.ssh/**)', null],
    ['Read(//etc/hosts)', null],
    ['WebFetch(domain:*.example.com)', null],
    ['Tool(any name)', null],
    ['mcp__github__create_issue', null],
    ['', /^must be a name such as Read/],
    ['npm test', /^must be a name such as Read/],
    ['Bash(', /^must be a name such as Read/],
    ['Bash()', /^has an empty pattern; write Bash/],
    ['Bash(a\nb)', /^must be one line/],
    [`Bash(${'x'.repeat(1000)})`, /^must be one line/],
    ['Bsh(x)', /^has an unknown name "Bsh" \(did you mean "Bash"\?\)/],
    ['Write(src/**)', /did you mean "Edit"/],
    ['Quxxx', /^has an unknown name "Quxxx"; names: Read, Edit, Delete, Move, Bash, WebFetch, Tool, mcp__/],
    ['Edit(/src/**)', /^is ambiguous: write Edit\(src\/\*\*\) for the project, or Edit\(\/\/src\/\*\*\) for the root/],
    ['Edit(!src)', /^must not start with "!"/],
    ['Edit(../x)', /^must not contain "\.\."/],
    [String.raw`Edit(C:\x)`, /^must be a path with "\/"/],
    ['WebFetch(example.com)', /^must name a host/],
    ['Tool', /^needs the name of a tool/],
    ['mcp__x(y)', /^must not have a pattern/],
  ];
  test.each(rows)('%s', (text, problem) => {
    const rule = parseRule(text);
    if (problem === null) expect(rule).toMatchObject({ text });
    else expect(rule).toMatch(problem);
  });
});

describe('Claude Code', () => {
  const permissionsIn = (args: readonly string[] = []) =>
    args.length === 0 ? null : (JSON.parse(args[1]!) as { permissions: object }).permissions;
  const rows: [string, string[] | null][] = [
    ['Bash', ['Bash']],
    ['Bash(npm test:*)', ['Bash(npm test:*)']],
    ['Bash(echo a, b)', ['Bash(echo a, b)']],
    ['Edit', ['Edit', 'Write', 'NotebookEdit']],
    ['Edit(src/**)', ['Edit(src/**)']],
    ['Edit(app/[id]/a.ts)', [String.raw`Edit(app/\[id\]/a.ts)`]],
    ['Read', ['Read', 'Glob', 'Grep']],
    ['Read(~/.ssh)', ['Read(~/.ssh)']],
    ['WebFetch(domain:a.example)', ['WebFetch(domain:a.example)']],
    ['mcp__db__query', ['mcp__db__query']],
    ['mcp__db__*', ['mcp__db__*']],
    ['Delete(src/**)', null],
    ['Move', null],
    ['WebFetch(domain:*.a.example)', null],
    ['Tool(a b)', null],
  ];
  test.each(rows)('%s', (text, forms) => {
    const left = forms === null ? [text] : [];
    const allowed = claudeRules(allow(text), roots);
    const denied = claudeRules(deny(text), roots);
    expect([permissionsIn(allowed.args), allowed.left]).toEqual([forms && { allow: forms }, left]);
    expect([permissionsIn(denied.args), denied.left]).toEqual([forms && { deny: forms }, left]);
  });
});

describe('OpenCode', () => {
  const permissionIn = (own: ReturnType<typeof opencodeRules>) => own.config?.content.permission ?? null;
  type Entries = Record<string, string[]>;
  const rows: [string, allowed: Entries | null, denied: Entries | null][] = [
    ['Bash', { bash: ['*'] }, { bash: ['*'] }],
    ['Bash(npm test:*)', { bash: ['npm test *'] }, { bash: ['npm test *'] }],
    ['Bash(npm test)', { bash: ['npm test'] }, { bash: ['npm test'] }],
    ['Edit', { edit: ['*'], external_directory: ['*'] }, { edit: ['*'] }],
    ['Edit(src/**)', ...both({ edit: ['src/**', '/home/dev/app/src/**'] })],
    ['Edit(./a.md)', ...both({ edit: ['a.md', 'a.md/**', '/home/dev/app/a.md', '/home/dev/app/a.md/**'] })],
    ['Edit(a*b)', null, { edit: ['a*b', 'a*b/**', '**/a*b', '**/a*b/**'] }],
    ['Edit(*.md)', ...both({ edit: ['*.md', '*.md/**', '**/*.md', '**/*.md/**'] })],
    ['Read(.env)', ...both({ read: ['.env', '.env/**', '**/.env', '**/.env/**'] })],
    // A star there may stand for a slash.
    [
      'Edit(src/*/a.ts)',
      null,
      { edit: ['src/*/a.ts', 'src/*/a.ts/**', '/home/dev/app/src/*/a.ts', '/home/dev/app/src/*/a.ts/**'] },
    ],
    // Files outside are one permission, whether they are read or edited.
    ['Read(~/.ssh)', null, { external_directory: ['/home/me/.ssh', '/home/me/.ssh/**'] }],
    ['Edit(//tmp/x/**)', ...both({ external_directory: ['/tmp/x/**'] })],
    ['WebFetch', ...both({ webfetch: ['*'] })],
    [
      'WebFetch(domain:a.example)',
      { webfetch: ['https://a.example', 'https://a.example/**', 'http://a.example', 'http://a.example/**'] },
      {
        webfetch: ['', '*@'].flatMap((user) =>
          ['', '/**', ':*', '.', './**'].map((end) => `*://${user}a.example${end}`),
        ),
      },
    ],
    ['mcp__db__*', ...both({ 'db_*': ['*'] })],
    ['Tool(task)', ...both({ task: ['*'] })],
    ['Delete(src/**)', null, null],
  ];
  test.each(rows)('%s', (text, allowed, denied) => {
    const expected = (entries: Entries | null, action: string) =>
      entries &&
      Object.fromEntries(
        Object.entries(entries).map(([key, patterns]) => [
          key,
          Object.fromEntries(patterns.map((each) => [each, action])),
        ]),
      );
    expect(permissionIn(opencodeRules(allow(text), roots))).toEqual(expected(allowed, 'allow'));
    expect(permissionIn(opencodeRules(deny(text), roots))).toEqual(expected(denied, 'deny'));
    expect(opencodeRules(allow(text), roots).left).toEqual(allowed === null ? [text] : []);
  });

  test('what is denied comes last, even after what the user has set, because the last rule decides', () => {
    const own = opencodeRules(
      rulesOf({ allow: ['Bash(git:*)', 'Bash(rm x)'], deny: ['Bash(git push:*)', 'Bash(rm x)'] }),
      roots,
    );
    const user = { model: 'm', permission: { bash: { 'git push *': 'allow', '*': 'allow' }, edit: 'ask' } };
    const env = environmentOf(own, { OPENCODE_CONFIG_CONTENT: JSON.stringify(user) });
    expect(env.OPENCODE_CONFIG_CONTENT).toBe(
      JSON.stringify({
        model: 'm',
        permission: { edit: 'ask', bash: { '*': 'allow', 'git *': 'allow', 'git push *': 'deny', 'rm x': 'deny' } },
      }),
    );
    const short = environmentOf(own, { OPENCODE_CONFIG_CONTENT: '{"permission":{"bash":"ask"}}' });
    expect(short.OPENCODE_CONFIG_CONTENT).toContain('"bash":{"*":"ask","git *":"allow"');
    expect(environmentOf(own, { OPENCODE_CONFIG_CONTENT: 'not JSON' })).toEqual({});
  });
});

describe('Copilot', () => {
  const rows: [string, string[] | null][] = [
    ['Bash', ['shell']],
    ['Bash(npm:*)', ['shell(npm:*)']],
    ['Bash(npm *)', ['shell(npm:*)']],
    ['Bash(git push:*)', ['shell(git push)']],
    ['Bash(npm test:*)', null],
    ['Bash(npm)', null],
    ['Bash(git push --force:*)', null],
    ['Edit', ['write']],
    ['Edit(.env)', ['write(.env)']],
    ['Edit(./.env)', ['write(/home/dev/app/.env)']],
    ['Edit(src/a.ts)', ['write(/home/dev/app/src/a.ts)']],
    ['Edit(//tmp/a)', ['write(/tmp/a)']],
    ['Edit(~/a)', ['write(/home/me/a)']],
    ['Edit(src/**)', null],
    ['Edit(src/)', null],
    ['Read(.env)', null],
    ['WebFetch', ['url']],
    ['WebFetch(domain:a.example)', ['url(https://a.example)', 'url(http://a.example)']],
    ['mcp__db__query', ['db(query)']],
    ['mcp__db__*', ['db']],
    ['Tool(x)', null],
  ];
  test.each(rows)('%s', (text, forms) => {
    const left = forms === null ? [text] : [];
    const args = (flag: string) => (forms ?? []).map((form) => `${flag}=${form}`);
    expect(copilotRules(allow(text), roots)).toEqual({ args: args('--allow-tool'), left });
    expect(copilotRules(deny(text), roots)).toEqual({ args: args('--deny-tool'), left });
  });
});

describe('Qwen Code', () => {
  const rows: [string, string | null][] = [
    ['Bash', 'Bash'],
    ['Bash(git push:*)', 'Bash(git push *)'],
    ['Edit(src/**)', 'Edit(src/**)'],
    ['Bash(echo a, b)', null],
    ['Edit(a[b])', null],
    ['Delete', null],
    ['WebFetch(domain:a.example)', 'WebFetch(domain:a.example)'],
    ['mcp__db__query', 'mcp__db__query'],
    ['mcp__db__*', null],
  ];
  test.each(rows)('%s is denied', (text, form) => {
    const expected = form === null ? { args: [], left: [text] } : { args: [`--exclude-tools=${form}`], left: [] };
    expect(qwenRules(deny(text), roots)).toEqual(expected);
    expect(qwenRules(allow(text), roots)).toEqual({ args: [], left: [text] });
  });
});

test('an agent without rules gets none', () => {
  expect(ownRulesOf({}, rulesOf({ allow: ['Bash'], deny: ['Edit(.env)'] }), roots)).toEqual({
    left: ['Bash', 'Edit(.env)'],
  });
  expect(ownRulesOf({ permissions: { ownRules: claudeRules } }, rulesOf({ allow: [], deny: [] }), roots)).toEqual({
    left: [],
  });
});

function both(entries: Record<string, string[]>): [Record<string, string[]>, Record<string, string[]>] {
  return [entries, entries];
}
