import { readBody } from './body.ts';
import type { Route, RouteCall } from './router.ts';

export const get = (path: string, read: (call: RouteCall) => Promise<object | void>): Route => ({
  method: 'GET',
  path,
  handle: read,
});

/** `gone` is aborted when the client has left. */
export const post = (path: string, act: (body: unknown, gone: AbortSignal) => Promise<object>): Route => ({
  method: 'POST',
  path,
  handle: async ({ request, reply: { response } }) => {
    const left = new AbortController();
    response.once('close', () => left.abort());
    return act(await readBody(request), left.signal);
  },
});
