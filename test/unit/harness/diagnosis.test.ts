import { expect, test } from 'vitest';
import { createDiagnosis } from '../../../src/harness/diagnosis.ts';
import { harnesses } from '../../../src/harness/registry.ts';
import { denied } from '../../../src/harness/problem.ts';
import type { AgentEvent, TurnEnd } from '../../../src/ralph/agent-events.ts';
import { createRedactor } from '../../../src/secrets/redact.ts';

const redactor = createRedactor({});

/** The errors that follow from these events when the process ends. */
const diagnose = (agent: string, events: readonly AgentEvent[], ended: Partial<TurnEnd> = {}, allowAll = false) => {
  const seen: AgentEvent[] = [];
  const diagnosis = createDiagnosis(
    harnesses.find(({ name }) => name === agent)!,
    { allowAll, redactor },
    (event) => seen.push(event),
  );
  events.forEach(diagnosis.observe);
  diagnosis.end({ end: 'exited', exitCode: 0, signal: null, problem: null, ...ended });
  return seen.filter((event) => event.type === 'error');
};

const stderr = (text: string): AgentEvent => ({ type: 'stderr', text });
const truncated: AgentEvent = { type: 'error', kind: 'truncated', message: 'it stopped' };

/** Real messages of agents without a signed-in user. */
test.each([
  ['gemini', 41, 'Please set an Auth method in your settings.json', /: Please set an Auth .*; sign in with "gemini"/],
  ['copilot', 1, 'Error: No authentication information found.', /; sign in with "copilot login"/],
  ['pi', 1, 'No API key found for the selected model.', /; sign in with "pi" and then \/login/],
  ['codex', 1, 'Missing environment variable: `OPENAI_API_KEY`.', /; sign in with "codex login"/],
])('%s that is not signed in: exit code %d and a line on stderr', (agent, exitCode, line, message) => {
  expect(diagnose(agent, [stderr(line), stderr(''), stderr('See the docs.'), truncated], { exitCode })).toEqual([
    { type: 'error', kind: 'auth', message: expect.stringMatching(message) },
  ]);
});

test('a folder that Gemini does not trust is a permission error', () => {
  expect(diagnose('gemini', [stderr('This folder is not trusted')], { exitCode: 55 })).toEqual([
    {
      type: 'error',
      kind: 'permission',
      message:
        'the agent exited with code 55: This folder is not trusted; run with --allow-all, or trust the folder: start "gemini" in it once',
    },
  ]);
});

test('an unexplained exit code is a crash with the last line of stderr', () => {
  const lines = [stderr('starting'), stderr('EACCES: permission denied, open /x'), stderr('Segmentation fault')];
  expect(diagnose('opencode', lines, { exitCode: 3 })).toEqual([
    { type: 'error', kind: 'crash', message: 'the agent exited with code 3: Segmentation fault' },
  ]);
  expect(diagnose('opencode', [], { exitCode: 3 })).toMatchObject([{ message: 'the agent exited with code 3' }]);
});

test('an error reported by an event is not reported again', () => {
  const error: AgentEvent = { type: 'error', kind: 'model', message: 'no such model' };
  expect(diagnose('claude', [error, stderr('401 Unauthorized'), truncated], { exitCode: 1 })).toMatchObject([
    { kind: 'model', message: 'no such model; choose another with --model' },
  ]);
});

test('truncated output is reported only if no other error is', () => {
  expect(diagnose('claude', [stderr('a warning'), truncated])).toEqual([truncated]);
  expect(diagnose('claude', [truncated], { end: 'killed', exitCode: null, signal: 'SIGKILL' })).toEqual([truncated]);
});

/** The message of the last denial. */
const denialMessage = (agent: string, tools: readonly string[], allowAll = false): string => {
  const harness = harnesses.find(({ name }) => name === agent)!;
  let said = '';
  const diagnosis = createDiagnosis(harness, { allowAll, redactor }, (event) => {
    if (event.type === 'denied') said = event.message;
  });
  for (const tool of tools) diagnosis.observe(denied(harness.title, tool));
  return said;
};

test.each([
  ['opencode', ['bash', 'write'], 'set "permission": { "bash": "allow", "edit": "allow" } in opencode.json'],
  [
    'claude',
    ['Bash', 'Write'],
    'add "Bash", "Write" to permissions.allow in ~/.claude/settings.json, or in .claude/settings.json of a folder that Claude Code trusts',
  ],
  [
    'codex',
    ['shell'],
    'set sandbox_mode = "workspace-write" in ~/.codex/config.toml and allow the command in ~/.codex/rules/default.rules',
  ],
  ['copilot', ['create'], 'approve it for this folder in an interactive "copilot"'],
  [
    'gemini',
    ['run_shell_command'],
    'add a rule with toolName = "run_shell_command" and decision = "allow" to a file in ~/.gemini/policies',
  ],
  ['qwen', ['edit'], 'add "edit" to permissions.allow in .qwen/settings.json'],
  ['cursor-agent', ['shell'], 'add "Shell(**)" and "Write(**)" to permissions.allow in .cursor/cli.json'],
  ['amp', ['Bash'], 'add { "tool": "Bash", "action": "allow" } to amp.permissions in ~/.config/amp/settings.json'],
])(
  '%s: a denial names the setting that allows the tool, and --allow-all unless it was given',
  (agent, tools, setting) => {
    const { title } = harnesses.find(({ name }) => name === agent)!;
    const what = `${title} isn't allowed to use ${tools.join(', ')}`;
    expect(denialMessage(agent, tools)).toBe(`${what}; run with --allow-all, or ${setting}`);
    expect(denialMessage(agent, tools, true)).toBe(`${what}; ${setting}`);
  },
);

test('a denial has its reason and the rule that would allow it, without secrets', () => {
  const secret = `sk-ant-api03-${'x'.repeat(40)}`;
  const seen: AgentEvent[] = [];
  const diagnosis = createDiagnosis(
    harnesses.find(({ name }) => name === 'goose')!,
    { allowAll: false, redactor },
    (event) => seen.push(event),
  );
  diagnosis.observe(denied('goose', 'shell', { reason: 'no rule allows it', remedy: { add: 'Bash(ls)' } }));
  diagnosis.observe(denied('goose', 'shell', { reason: `no: ${secret}`, remedy: { add: `Bash(curl ${secret})` } }));
  diagnosis.observe(denied('goose', 'write', { byRule: true, reason: 'the rule', remedy: { reason: 'the rule' } }));

  expect(seen).toMatchObject([
    { tool: 'shell', reason: 'no rule allows it', suggestedRule: 'Bash(ls)' },
    { tool: 'shell', reason: expect.stringMatching(/^no: .*redacted/) },
    { tool: 'write', reason: 'the rule', byRule: true },
  ]);
  for (const event of seen.slice(1)) expect(event).not.toHaveProperty('suggestedRule');
  expect(JSON.stringify(seen)).not.toContain(secret);
});
