import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/ralph/agent-events.ts';
import { observeIteration } from '../../../src/ralph/observe-iteration.ts';

const tag = '<promise>COMPLETE</promise>';

const completes = (text: string, { plain = true, trailer = [] as string[] } = {}): boolean => {
  const watch = observeIteration({ completionPromise: 'COMPLETE', blockedPromise: 'BLOCKED', trailer }, 'Do it.');
  for (const event of plain ? text.split('').map(textOf) : [textOf(text, false)]) watch.observe(event);
  return watch.judge({ end: 'exited', exitCode: 0, signal: null, problem: null }).completionFound;
};

const textOf = (text: string, plain: unknown): AgentEvent => ({ type: 'text', text, plain: plain !== false });

describe('lines that agent CLIs print after the last message', () => {
  test.each([
    'Tokens used: 1,234',
    'tokens used\n7,106',
    'Tokens: 12k sent, 1.2k received. Cost: $0.02 message, $0.30 session.',
    'Total tokens: 12345 (input: 12000, output: 345)',
    'Input tokens: 1234 | Output tokens: 567 | Cost: $0.0123',
    'Total cost: $0.02',
    'Cost: 0.0012 USD',
    'Duration: 12s',
    'Total duration (API): 12.3s\nTotal duration (wall): 1m 20.5s',
    'Total usage est: 1 Premium request\nTotal code changes: 1 lines added, 0 lines removed',
    'Usage by model:\n    gpt-5.2    10.2k input, 100 output, 8.1k cache read (Est. 1 Premium request)',
    'Time: 3m 12s',
    'Elapsed time: 00:03:12',
    'API time: 2.1s',
    'Completed in 12.4s',
    'Done in 3.42s.',
    '✨ Done in 3.4s',
    'Took 2m 3s',
    'Session saved to /home/user/.agent/sessions/2026-11-16.jsonl',
    'Session saved: abc-123',
    'Saved session to ~/.agent/last.json',
    'Transcript written to transcript.md',
    'Session ID: 019a1e0d-4f7a',
    'session id = 42',
    'session: ses_4f2',
    'Session ended.',
    'Closing session. Recorded to /home/user/.local/share/goose/sessions/1.jsonl',
    'To continue this session, run codex resume 019a1e0d',
    'Resume this session with: goose session -r --name 20261116',
    'Model: claude-opus-4-5',
    'Context: 12,345 tokens used',
    '──────────────\nTokens used: 1,234\n──────────────',
    '\u001b[2mTokens used: 1,234\u001b[0m',
    '│ Cost: $0.02 │',
    'Goodbye!',
    'Commit 1234abc feat: x',
    'Applied edit to a.py',
    'Log file: /x',
    'To resume: x --resume y',
    'Tool calls: 12',
    '23% context left',
    'Session saved to "/a b.json"',
    '> ',
    '$ ',
    '=====\n\n-----',
  ])('%j can follow the promise, in plain output only', (trailer) => {
    expect(completes(`All is done.\n\n${tag}\n${trailer}\n`)).toBe(true);
    expect(completes(`All is done.\n\n${tag}\n\n${trailer}\n\n`)).toBe(true);
    const silent = !/[\p{L}\p{N}]/u.test(trailer);
    expect(completes(`All is done.\n\n${tag}\n${trailer}\n`, { plain: false })).toBe(silent);
  });
});

describe('text of the agent', () => {
  test.each([
    'Remaining TODO: task two is not done.',
    'Tests: 3 failed, 12 passed',
    'Errors: 3',
    'Failed: 2',
    '3 tests fail.',
    '42',
    'Session handling is not saved yet.',
    'Session tokens are still stored in plain text.',
    'Continue the session handling work: task two is open',
    'Total time left: not enough for task two, 3 tasks open',
    'Steps: 1 of 3',
    'Goodbye, task two is still open.',
    'Commit the rest later',
    'Commit 1234abc still fails two tests',
    'Applied edit to a.py, b.py is next',
    'Log file: not written yet',
    'To resume: fix task two, then run it',
    '23% of the tasks left',
    'Calls fail: 12',
    'Time is up.',
    'The cost: 3 tests are red.',
    'Model: broken',
    'Let me know if you need anything else!',
    'Good night.',
    'Done in part: 3 of 4',
    'Usage is documented in README.md',
    'Tokens used: 1,234\nBut two tests still fail.',
    'Session saved to x.json\nI will go on with task two.',
  ])('%j after the promise rejects it', (words) => {
    expect(completes(`All is done.\n\n${tag}\n${words}\n`)).toBe(false);
  });
});

test('the reason names the setting, in plain output only', () => {
  const rejected = (plain: boolean) => {
    const watch = observeIteration({ completionPromise: 'COMPLETE', blockedPromise: 'BLOCKED' }, 'Do it.');
    watch.observe(textOf(`${tag}\nmy-agent: bye\n`, plain));
    return watch.judge({ end: 'exited', exitCode: 0, signal: null, problem: null }).rejected;
  };
  expect(rejected(true)).toBe(
    'the agent had more to say after it (if its CLI printed that, set "trailer" for the harness)',
  );
  expect(rejected(false)).toBe('the agent had more to say after it');
});

test('a custom harness can declare how its trailer lines start', () => {
  const text = `All is done.\n\n${tag}\n\n  my-agent: bye after 3 turns\n[log] see you\n`;
  expect(completes(text)).toBe(false);
  expect(completes(text, { trailer: ['my-agent:'] })).toBe(false);
  expect(completes(text, { trailer: ['my-agent:', '[log]'] })).toBe(true);
  expect(completes(`${text}Two tests fail.\n`, { trailer: ['my-agent:', '[log]'] })).toBe(false);
});
