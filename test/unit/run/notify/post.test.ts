import { expect, test } from 'vitest';
import { parseTarget } from '../../../../src/config/notify-targets.ts';
import { createPoster } from '../../../../src/run/notify/post.ts';
import { closedPort, startReceiver, status } from '../../../support/receiver.ts';
import type { NotifyMessage } from '../../../../src/run/notify/message.ts';

const message = { kind: 'complete', title: 'a: complete', text: 'Done.', view: {} } as NotifyMessage;
const quick = { retryDelaysMs: [1, 1, 1], attemptMs: 60_000, maxMs: 60_000 };

const send = async (address: string, timing = quick, stop = new AbortController().signal) => {
  const target = parseTarget(address);
  if (target === null || !('url' in target)) throw new Error(`not an address: ${address}`);
  const sent = await createPoster({ ...target, kind: 'slack' }, timing)(message, { stop, tag: 'test' });
  return sent!.problem;
};

test.each([
  ['a server that fails twice is asked three times', 3, [503, 429, 200], null],
  ['a server that keeps failing is asked four times', 4, [500, 502, 503, 504, 200], 'HTTP 504'],
  ['a refusal is final', 1, [403, 200], 'HTTP 403'],
  ['a redirection is not followed', 1, [302, 200], 'HTTP 302'],
])('%s', async (_, times, codes, problem) => {
  const { host, received } = await startReceiver((response, number) => {
    response.setHeader('location', '/elsewhere');
    status(codes[number - 1]!)(response);
  });
  expect(await send(`http://${host}/hook`)).toBe(problem);
  expect(received.map(({ path }) => path)).toEqual(Array.from({ length: times }, () => '/hook'));
});

test('a server that never answers is given up after all attempts', async () => {
  const { host, received } = await startReceiver(() => {});
  expect(await send(`http://${host}/hook`, { ...quick, attemptMs: 50 })).toBe('no answer in time');
  expect(received.length).toBeLessThanOrEqual(4);
});

test('all attempts together have a time limit, and a stop ends them', async () => {
  const { host, received } = await startReceiver(() => {});
  expect(await send(`http://${host}/hook`, { ...quick, maxMs: 50 })).toBe('no answer in time');
  expect(received.length).toBeLessThanOrEqual(1);

  const stop = new AbortController();
  const sending = send(`http://${host}/hook`, quick, stop.signal);
  stop.abort();
  expect(await sending).toBe('no answer in time');
});

test('a closed port is tried again, then reported', async () => {
  expect(await send(`http://127.0.0.1:${await closedPort()}/hook`)).toBe('ECONNREFUSED');
});
