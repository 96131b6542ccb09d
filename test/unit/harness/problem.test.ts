import { expect, test } from 'vitest';
import { problemEvent } from '../../../src/harness/problem.ts';
import type { AgentErrorKind } from '../../../src/ralph/events.ts';

test.each<[string, number | null, AgentErrorKind]>([
  ['anything', 401, 'auth'],
  ['anything', 404, 'model'],
  ['anything', 429, 'limit'],
  ['anything', 529, 'overload'],
  ['prompt is too long', 400, 'context'],
  ['unexpected status 401 Unauthorized', null, 'auth'],
  ['Not logged in · Please run /login', null, 'auth'],
  ['You have hit your usage limit', null, 'limit'],
  ['RESOURCE_EXHAUSTED', null, 'limit'],
  ['model scripted does not exist', null, 'model'],
  ['the maximum context length is exceeded', null, 'context'],
  ['We are currently experiencing high demand', null, 'overload'],
  ['connect ECONNREFUSED 127.0.0.1', null, 'transport'],
  ['permission to use Bash was denied', null, 'permission'],
  ['Rate limit reached; login to upgrade', null, 'limit'],
  ["You've hit your 5-hour limit · resets 2:43am (UTC)", null, 'limit'],
  ['a backlog in file', null, 'unknown'],
  ['max_tokens must be at most 512', null, 'unknown'],
  ['context_length_exceeded', null, 'context'],
  ['model_not_found', null, 'model'],
  ['invalid x-api-key', null, 'auth'],
  ['it broke', null, 'unknown'],
])('%j with status %j is of kind %s', (message, status, kind) => {
  expect(problemEvent({ message, status })).toMatchObject({ type: 'error', kind });
});

test.each([
  ['Claude AI usage limit reached|1794790000', 1_794_790_000_000],
  ['usage limit, resets at 2026-11-16T07:00:00+01:00', Date.UTC(2026, 10, 16, 6)],
  ['usage limit reached', undefined],
  ['rate limit exceeded (request of 2026-11-15T07:03:12Z)', undefined],
])('%j resets at %j', (message, resetsAtMs) => {
  expect(problemEvent({ message })).toEqual({
    type: 'error',
    kind: 'limit',
    message,
    ...(resetsAtMs ? { resetsAtMs } : {}),
  });
});

test('the way out is for its kind only, and the status is said once', () => {
  const advice = { auth: 'sign in' };
  expect(problemEvent({ message: 'no', status: 401, advice })).toMatchObject({ message: 'no (HTTP 401); sign in' });
  expect(problemEvent({ message: 'API Error: 401', status: 401, advice })).toMatchObject({
    message: 'API Error: 401; sign in',
  });
  expect(problemEvent({ message: 'no', status: 500, advice })).toMatchObject({ message: 'no (HTTP 500)' });
});
