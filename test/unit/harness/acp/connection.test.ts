import { describe, expect, test } from 'vitest';
import { createConnection } from '../../../../src/harness/acp/connection.ts';

const connect = (onRequest: (method: string, params: unknown) => object | null = () => null) => {
  const sent: { id?: unknown; method?: string; result?: unknown; error?: { code: number } }[] = [];
  const connection = createConnection({ send: (message) => sent.push(JSON.parse(message)), onRequest });
  return { ...connection, sent, say: (message: unknown) => connection.receive(JSON.stringify(message)) };
};

describe('a connection with an ACP agent', () => {
  test('matches answers with requests by ID, in any order, and each only once', async () => {
    const { request, say } = connect();
    const [first, second] = [request('a', {}, 1000), request('b', {}, 1000)];
    for (const id of [7, 0, -1, '1', null, [1], {}, undefined]) say({ id, result: 'wrong' });
    say({ id: 2, result: 'second' });
    say({ id: 2, result: 'again' });
    say({ id: 1, error: { code: -32602, message: 'bad', data: { details: 'x' } } });
    expect(await first).toEqual({ type: 'error', code: -32602, message: 'bad', data: { details: 'x' } });
    expect(await second).toEqual({ type: 'result', result: 'second' });
  });

  test('answers requests that it does not know at once, whatever their ID, and no notifications', () => {
    const { say, sent } = connect((method, params) => (method === 'known' ? { got: params } : null));
    for (const id of [0, 'x', 1.5, ['a']]) say({ id, method: 'craft/anything' });
    say({ method: 'session/update', params: {} });
    say({ id: null, method: 'nothing' });
    say({ id: 3, method: 'known', params: { a: 1 } });
    expect(sent).toMatchObject([
      { id: 0, error: { code: -32601 } },
      { id: 'x', error: { code: -32601 } },
      { id: 1.5, error: { code: -32601 } },
      { id: ['a'], error: { code: -32601 } },
      { id: 3, result: { got: { a: 1 } } },
    ]);
  });

  test('ignores what is not a message', () => {
    const { receive, sent } = connect();
    for (const line of ['', 'junk', '[]', '{', '{"id":1', 'null', '1', `${'['.repeat(100_000)}`]) receive(line);
    expect(sent).toEqual([]);
  });

  test('does not wait for ever, nor for an agent that is gone', async () => {
    const { request, end, notify, say, sent } = connect();
    expect(await request('slow', {}, 10)).toEqual({ type: 'timeout' });
    say({ id: 1, result: 'late' });
    const open = request('open', {}, Infinity);
    end();
    expect(await open).toEqual({ type: 'gone' });
    expect(await request('more', {}, 1000)).toEqual({ type: 'gone' });
    notify('more', {});
    expect(sent.map(({ method }) => method)).toEqual(['slow', 'open']);
  });

  test('calls back before the next message', async () => {
    const order: string[] = [];
    const { request, say } = connect((method) => {
      order.push(method);
      return null;
    });
    void request('prompt', {}, Infinity, () => order.push('answered'));
    say({ id: 1, result: {} });
    say({ id: 5, method: 'late' });
    expect(order).toEqual(['answered', 'late']);
  });
});
