import { describe, expect, test } from 'vitest';
import type { Remedy } from '../../../src/harness/decoded-event.ts';
import { remedyFor, typedRule } from '../../../src/harness/permissions/remedy.ts';
import { rulesOf } from '../../../src/harness/permissions/rule.ts';
import { harnesses } from '../../../src/harness/registry.ts';

const root = '/nowhere/project';

const remedy = (
  agent: string,
  tool: string,
  input: object,
  { allow = [], deny = [] }: { allow?: readonly string[]; deny?: readonly string[] } = {},
): Remedy | null =>
  remedyFor(
    harnesses.find(({ name }) => name === agent)!,
    { tool, input },
    { rules: rulesOf({ allow, deny }), roots: { root, home: '/nowhere' } },
  );

describe('what can be done about a call that an agent denied by itself', () => {
  test.each<[string, string, object, string]>([
    ['opencode', 'bash', { command: 'mkdir out' }, 'Bash(mkdir out)'],
    ['opencode', 'bash', { command: 'npm ci\nnpm test' }, 'Bash(npm ci)'],
    ['opencode', 'bash', { command: `curl ${'x'.repeat(300)}` }, 'Bash(curl:*)'],
    ['opencode', 'bash', { command: 'echo x > a.txt' }, 'Bash'],
    ['opencode', 'edit', { path: 'src/a.ts' }, 'Edit(./src/a.ts)'],
    ['opencode', 'external_directory', { path: '/nowhere/other' }, 'Edit(//nowhere/other)'],
    ['opencode', 'webfetch', { url: 'https://example.com/page' }, 'WebFetch(domain:example.com)'],
    ['opencode', 'doom_loop', {}, 'Tool(doom_loop)'],
    ['claude', 'Write', { file_path: '/nowhere/other.txt', content: 'x' }, 'Edit(//nowhere/other.txt)'],
    ['claude', 'Bash', { command: 'npm test' }, 'Bash(npm test)'],
    ['claude', 'mcp__github__create_issue', {}, 'Tool(mcp__github__create_issue)'],
    ['copilot', 'create', { path: `${root}/a.txt`, file_text: 'x' }, 'Edit(./a.txt)'],
    ['copilot', 'bash', { command: 'git push origin main' }, 'Bash(git push:*)'],
    ['copilot', 'bash', { command: 'npm run build' }, 'Bash(npm:*)'],
  ])('%s, %s: %j', (agent, tool, input, add) => {
    expect(remedy(agent, tool, input)).toEqual({ add });
  });

  test.each<[string, string, object]>([
    // It is told only deny rules.
    ['qwen', 'run_shell_command', { command: 'npm test' }],
    ['codex', 'shell', { command: 'npm test' }],
    ['gemini', 'run_shell_command', { command: 'npm test' }],
    // It has no rules for reading, and no patterns for files.
    ['copilot', 'view', { path: '/nowhere/other.txt' }],
  ])('%s has no rule for it: %s %j', (agent, tool, input) => {
    expect(remedy(agent, tool, input)).toBeNull();
  });

  test('only what the rules do not allow yet is suggested', () => {
    const command = 'npm test && ls';
    expect(remedy('claude', 'Bash', { command }, { allow: ['Bash(npm test:*)'] })).toEqual({ add: 'Bash(ls)' });
    expect(remedy('claude', 'Bash', { command: 'npm test' }, { allow: ['Bash'] })).toBeNull();
  });

  test('a rule that is not one line is not suggested', () => {
    expect(typedRule("Bash(git commit -m 'title\n\nbody')")).toBe('Bash(git commit:*)');
    expect(typedRule('Bash(npm test)')).toBe('Bash(npm test)');
  });

  test('a deny rule is named instead', () => {
    expect(remedy('opencode', 'bash', { command: 'git push' }, { deny: ['Bash(git push:*)'] })).toEqual({
      reason: 'the rule Bash(git push:*) denies it',
    });
  });
});
