import type { IncomingMessage } from 'node:http';
import type { Refusal } from './refusal.ts';
import type { ServedNames } from './served-names.ts';

const maxUrl = 4096;

/**
 * Returns why a request is refused before anything is read for it; null if it may pass. A page of another site can send
 * requests to this server (and, with a name that it points here, even read the answers), so each one must name this server
 * as its host and, where the browser says where it comes from, come from our own page.
 */
export const checkRequest = (request: IncomingMessage, names: ServedNames): Refusal | null => {
  const { method = '', url = '' } = request;
  const hosts = request.headersDistinct.host ?? [];
  const [host = ''] = hosts;
  if (hosts.length !== 1 || !names.isServed(host))
    return { status: 421, code: 'wrong-host', message: 'This server does not serve that host name.' };
  if (!['GET', 'HEAD', 'POST'].includes(method))
    return {
      status: 405,
      code: 'wrong-method',
      message: 'Only GET, HEAD and POST are answered.',
      headers: { allow: 'GET, HEAD, POST' },
    };
  if (url.length > maxUrl) return { status: 414, code: 'too-long', message: 'The address is too long.' };
  if (!isPlainPath(url)) return { status: 400, code: 'bad-request', message: 'The address is not valid.' };
  return isForeign(request, names.originFor(host))
    ? { status: 403, code: 'forbidden', message: 'Requests of other sites are refused.' }
    : null;
};

/** Starts with one slash, and has no encoded slash, backslash, NUL or step upwards that something could decode later. */
const isPlainPath = (url: string): boolean => {
  const [path = ''] = url.split('?', 1);
  return (
    /^\/(?!\/)[\w\-.~!$&'()*+,;=:@%/]*$/.test(path) && !/%(?:2f|5c|00|2e)|\/\.{1,2}(?:\/|$)|%(?![\da-f]{2})/i.test(path)
  );
};

/** Following a link to the page is the only thing that another site may do. The cookie is not sent with it. */
const isForeign = (request: IncomingMessage, ownOrigin: string): boolean => {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = request.headers;
  if (origin !== undefined && origin !== ownOrigin) return true;
  if (site === undefined || site === 'same-origin') return false;
  return !(request.method === 'GET' && mode === 'navigate' && destination === 'document' && !isApi(request.url));
};

export const isApi = (url: string | undefined): boolean => url?.startsWith('/api/') ?? false;
