import { expect, test } from 'vitest';
import { resetTime, retryAfter } from '../../../src/harness/reset-time.ts';

/** A Monday, ten past seven in the morning in UTC. */
const now = new Date('2026-11-16T07:10:00Z');

test.each([
  ['Claude AI usage limit reached|1794790000', new Date(1_794_790_000_000).toISOString()],
  ['usage limit, resets at 2026-11-16T07:00:00+01:00', '2026-11-16T06:00:00.000Z'],
  ["You've hit your session limit · resets 2:30pm (Pacific/Auckland)", '2026-11-17T01:30:00.000Z'],
  ["You've hit your session limit · resets 9am (Europe/Berlin)", '2026-11-16T08:00:00.000Z'],
  ["You've hit your 5-hour limit · resets 2:43am (UTC)", '2026-11-17T02:43:00.000Z'],
  ["You've hit your session limit · resets 12:50am (America/Los_Angeles)", '2026-11-16T08:50:00.000Z'],
  ["You've hit your weekly limit · resets Nov 20, 5am (Europe/Berlin)", '2026-11-20T04:00:00.000Z'],
  ['Your limit will reset at 1pm (Etc/GMT+5).', '2026-11-16T18:00:00.000Z'],
  ['Your limit will reset at 7:05am (UTC).', '2026-11-16T07:05:00.000Z'],
  ['limit reached, resets 12am (UTC)', '2026-11-17T00:00:00.000Z'],
  ['limit reached, resets 18:44 (UTC)', '2026-11-16T18:44:00.000Z'],
  ['Weekly limit: resets 16:21 on 19 Nov (UTC)', '2026-11-19T16:21:00.000Z'],
  ['or try again at Nov 20th, 2026 2:51 PM (UTC).', '2026-11-20T14:51:00.000Z'],
  ['or try again in 2 days 17 hours 14 minutes.', '2026-11-19T00:24:00.000Z'],
  ['or try again in 3 hours 2 minutes.', '2026-11-16T10:12:00.000Z'],
  ['Your quota will reset after 2h3m4s.', '2026-11-16T09:13:04.000Z'],
  ['Please retry in 30.5s.', '2026-11-16T07:10:30.500Z'],
  ['"retryDelay":"34s"', '2026-11-16T07:10:34.000Z'],
  ['rate limit, retry-after: 120', '2026-11-16T07:12:00.000Z'],
  ['resets at 15:00 UTC', '2026-11-16T15:00:00.000Z'],
  ['resets 3pm PST', '2026-11-16T23:00:00.000Z'],
  ['resets 3:00 PM GMT+2', '2026-11-16T13:00:00.000Z'],
  ['try again at 17:00 CET', '2026-11-16T16:00:00.000Z'],
  ['reset at 15:00Z', '2026-11-16T15:00:00.000Z'],
  ['retry after 30', '2026-11-16T07:10:30.000Z'],
  ['{"retry_after": 30}', '2026-11-16T07:10:30.000Z'],
  ['{"resets_in_seconds":300}', '2026-11-16T07:15:00.000Z'],
  ['{"resets_at":1794800000}', new Date(1_794_800_000_000).toISOString()],
  ['Please try again in 120ms.', '2026-11-16T07:10:00.120Z'],
  ['try again in 1 week', '2026-11-23T07:10:00.000Z'],
  ['Retry after 5 minutes', '2026-11-16T07:15:00.000Z'],
  ['Your weekly limit resets Friday 9am (UTC)', '2026-11-20T09:00:00.000Z'],
])('%s', (message, at) => {
  expect(new Date(resetTime(message, now)!).toISOString()).toBe(at);
});

test.each([
  ['2026-03-29T00:10:00Z', 'resets 3:30am (Europe/Berlin)', '2026-03-29T01:30:00.000Z'],
  ['2026-12-20T00:10:00Z', 'resets Jan 2, 5am (UTC)', '2027-01-02T05:00:00.000Z'],
  ['2026-10-25T00:10:00Z', 'resets 6am (Europe/Berlin)', '2026-10-25T05:00:00.000Z'],
])('at %s: %s', (at, message, expected) => {
  expect(new Date(resetTime(message, new Date(at))!).toISOString()).toBe(expected);
});

test.each([
  'usage limit reached',
  'rate limit exceeded (request of 2026-11-15T07:03:12Z)',
  'please try again later',
  'limits reset every 5h and every week',
  'resets 45:99pm',
  'try again in 900 days',
  'try again',
])('%s: has no reset time', (message) => {
  expect(resetTime(message, now)).toBeNull();
});

test.each([
  [{ 'retry-after': '400' }, 400_000],
  [{ 'Retry-After': ' 1.5 ' }, 1500],
  [{ 'retry-after': 30 }, 30_000],
  [{ 'retry-after': '30', 'retry-after-ms': '2500' }, 2500],
  [{ 'retry-after': new Date(now.getTime() + 90_000).toUTCString() }, 90_000],
  [{ 'retry-after': 'soon' }, null],
  [{ 'retry-after': '-5' }, null],
  [{ 'retry-after': '' }, null],
  [{ 'retry-after': '9999999999' }, null],
  [{ 'retry-after': ['400'] }, null],
  [{}, null],
])('the headers %j mean a wait of %s ms', (headers, ms) => {
  expect(retryAfter(headers, now)).toBe(ms === null ? null : now.getTime() + ms);
});
