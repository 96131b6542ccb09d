import { expect, test } from 'vitest';
import { problemEvent } from '../../../src/harness/problem.ts';
import type { AgentErrorKind } from '../../../src/ralph/agent-events.ts';

test.each<[string, number | null, AgentErrorKind]>([
  ['anything', 401, 'auth'],
  ['anything', 404, 'model'],
  ['anything', 429, 'rate-limit'],
  ['anything', 529, 'overload'],
  ['prompt is too long', 400, 'context'],
  ['unexpected status 401 Unauthorized', null, 'auth'],
  ['Not logged in · Please run /login', null, 'auth'],
  ['You have hit your usage limit', null, 'rate-limit'],
  ['RESOURCE_EXHAUSTED', null, 'rate-limit'],
  ['model scripted does not exist', null, 'model'],
  ['the maximum context length is exceeded', null, 'context'],
  ['We are currently experiencing high demand', null, 'overload'],
  ['connect ECONNREFUSED 127.0.0.1', null, 'transport'],
  ['permission to use Bash was denied', null, 'permission'],
  ['Rate limit reached; login to upgrade', null, 'rate-limit'],
  ["You've hit your 5-hour limit · resets 2:43am (UTC)", null, 'rate-limit'],
  ['a backlog in file', null, 'unknown'],
  ['max_tokens must be at most 512', null, 'unknown'],
  ['context_length_exceeded', null, 'context'],
  ['model_not_found', null, 'model'],
  ['invalid x-api-key', null, 'auth'],
  ["You've reached your individual spend limit", null, 'rate-limit'],
  ['it broke', null, 'unknown'],
])('%j with status %j is of kind %s', (message, status, kind) => {
  expect(problemEvent({ message, status })).toMatchObject({ type: 'error', kind });
});

test('a rate limit has its reset time, and the status appears once', () => {
  expect(problemEvent({ message: 'Claude AI usage limit reached|1794790000' })).toEqual({
    type: 'error',
    kind: 'rate-limit',
    message: 'Claude AI usage limit reached|1794790000',
    resetsAtMs: 1_794_790_000_000,
  });
  expect(problemEvent({ message: 'no', status: 401 })).toMatchObject({ message: 'no (HTTP 401)' });
  expect(problemEvent({ message: 'API Error: 401', status: 401 })).toMatchObject({ message: 'API Error: 401' });
});
