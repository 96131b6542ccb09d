import { describe, expect, test } from 'vitest';
import { findErrorLine } from '../../../src/harness/error-line.ts';
import type { AgentErrorKind } from '../../../src/ralph/agent-events.ts';

const kindOf = (lines: readonly string[], own = true): AgentErrorKind | null =>
  findErrorLine(lines, { own })?.kind ?? null;

describe('messages of the agent CLI itself', () => {
  test.each<[string, AgentErrorKind]>([
    // Claude Code
    ['Claude AI usage limit reached|1794790000', 'rate-limit'],
    ["You've hit your session limit · resets 3pm (Europe/Paris)", 'rate-limit'],
    ["You've hit your limit · resets 2:30pm (UTC)", 'rate-limit'],
    ['5-hour limit reached ∙ resets 3pm', 'rate-limit'],
    [
      'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed"}}',
      'rate-limit',
    ],
    ['Not logged in · Please run /login', 'auth'],
    ['Invalid API key · Please run /login', 'auth'],
    // Codex
    ["ERROR: You've hit your usage limit. Upgrade to Pro or try again in 2 hours 5 minutes.", 'rate-limit'],
    ['ERROR: exceeded retry limit, last status: 429 Too Many Requests', 'rate-limit'],
    ['2026-11-15T23:03:20.382Z ERROR codex_core: unexpected status 401 Unauthorized: no such key', 'auth'],
    ['Missing environment variable: `OPENAI_API_KEY`.', 'auth'],
    // Gemini
    ['[API Error: You have exhausted your daily quota on this model.]', 'rate-limit'],
    [
      'ApiError: {"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}',
      'rate-limit',
    ],
    ['Attempt 1 failed with status 429. Retrying with backoff... ApiError: quota exceeded', 'rate-limit'],
    ['Please set an Auth method in your settings.json or specify GEMINI_API_KEY', 'auth'],
    // Copilot
    [
      "Sorry, you've hit a rate limit that restricts the number of requests. Please try again in 2 hours.",
      'rate-limit',
    ],
    ['Error: No authentication information found.', 'auth'],
    // Cursor
    ["Error: You've hit your usage limit Get Cursor Pro for more Agent usage", 'rate-limit'],
    ['ConnectError: [resource_exhausted] Error', 'rate-limit'],
    // Qwen Code
    ['[API Error: 429 You exceeded your current quota, please check your plan]', 'rate-limit'],
    // OpenCode
    ['Error: Too Many Requests', 'rate-limit'],
    ['\u001b[91m\u001b[1mError: \u001b[0mRate limit exceeded. Please try again later.', 'rate-limit'],
    ['Error: Model not found: anthropic/nothing', 'model'],
    ['ProviderModelNotFoundError: ProviderModelNotFoundError', 'model'],
    // pi, Amp, and custom agents
    ['No API key found for the selected model.', 'auth'],
    ['Unauthorized. Run `amp login` to log in.', 'auth'],
    ['litellm.RateLimitError: AnthropicException - {"type":"error","error":{"type":"rate_limit_error"}}', 'rate-limit'],
    ['Error: model "llama9" not found, try pulling it first', 'model'],
    ['HTTP 429 Too Many Requests', 'rate-limit'],
    ['Rate limit reached for gpt-5 in organization org-1 on tokens per min', 'rate-limit'],
    ['Error: Request failed with status code 429', 'rate-limit'],
  ])('%j is of kind %s', (line, kind) => {
    expect(kindOf(['Working on it.', line])).toBe(kind);
  });
});

describe('output of its tools', () => {
  test.each([
    // vitest
    ['✓ src/api.test.ts > client > retries on 429 Too Many Requests 12ms'],
    ['× answers Too Many Requests'],
    ['FAIL  src/api.test.ts > client > usage limit reached'],
    ['AssertionError: expected 429 to be 200'],
    ['❯ src/rate-limit.test.ts:10:11'],
    // jest
    ['● client › Error: Too Many Requests'],
    ['expect(received).toBe(expected) // status 429'],
    ['Expected: "Too Many Requests"'],
    ['at Object.<anonymous> (src/rate-limit.test.js:3:9)'],
    // mocha and TAP
    ['1) returns an error: rate limit exceeded:'],
    ['not ok 3 - HTTP 429 Too Many Requests'],
    ['ok 12 - error: quota exceeded'],
    ['# Subtest: error: usage limit'],
    // pytest
    ['FAILED tests/test_api.py::test_limit - HTTPError: 429 Client Error: Too Many Requests'],
    ['tests/test_api.py::test_not_logged_in FAILED'],
    ['E       requests.exceptions.HTTPError: 429 Client Error: Too Many Requests'],
    // go test
    ['--- FAIL: TestError/status_429_Too_Many_Requests (0.00s)'],
    ['client_test.go:41: error: got status 429, want 200'],
    // cargo test
    ['test api::error_rate_limit_exceeded ... FAILED'],
    ["thread 'api::limits' panicked at 'error: Too Many Requests'"],
    ['error: test failed, to rerun pass `--lib rate_limit`'],
    // Code, diffs, and text about errors.
    ["throw new Error('Too Many Requests: rate limit exceeded');"],
    ['+  Error: Too Many Requests'],
    ['-Error: rate limit exceeded'],
    ['12 |   res.status(429).send("Too Many Requests")'],
    ['> error: Too Many Requests'],
    ['Error: the banner says "You have hit your usage limit"'],
    ["I have added a test for 'Too Many Requests'."],
    ['Too Many Requests'],
    ['The client now retries when the rate limit is exceeded.'],
    ['{"error":"Too Many Requests"}'],
    ['npm error 429 Too Many Requests - GET https://registry.example/left-pad'],
    ['The login page shows: Not logged in'],
    ['I used an unknown model name in the test.'],
    ['"invalid api key" is shown to the user'],
    ['users/model.ts: the model of the user does not exist yet'],
  ])('%j is not an error of the agent', (line) => {
    expect(kindOf(['Working on it.', line])).toBeNull();
  });
});

describe('between lines of a test runner', () => {
  const tests = ['FAIL  src/api.test.ts', '✓ client > works', 'Tests  1 failed | 12 passed (13)'];

  test.each<[string, AgentErrorKind | null]>([
    ['Error: Too Many Requests', null],
    ['Error: Request failed with status code 429', null],
    ['Rate limit exceeded. Please try again in 5 minutes', null],
    ['Invalid API key', null],
    ['Model not found: User', null],
    ["You've hit your usage limit. Try again at 3pm.", 'rate-limit'],
    ['Claude AI usage limit reached|1794790000', 'rate-limit'],
    ['Not logged in · Please run /login', 'auth'],
  ])('%j is of kind %s next to structured events', (line, kind) => {
    expect(kindOf([...tests, line])).toBe(kind);
    expect(kindOf([line, ...tests])).toBe(kind);
    expect(kindOf([line], false)).toBe(kind);
  });
});

test('a stack trace after the error is ignored, and the last error line counts', () => {
  const stack = ['at throwErrorIfNotOK (file:///gemini/index.js:1:2)', 'at process.processTicksAndRejections'];
  expect(findErrorLine(['Error: No API key found.', 'Error: 429 Too Many Requests', ...stack], { own: true })).toEqual({
    line: 'Error: 429 Too Many Requests',
    kind: 'rate-limit',
  });
});
