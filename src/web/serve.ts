import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { asUserError, systemProblem, userError } from '../errors.ts';
import type { Project } from '../store/project.ts';
import { type Reply, send, sendJson, sendRefusal } from './http/answer.ts';
import { checkRequest, isApi } from './http/check-request.ts';
import { loadKey } from './http/key.ts';
import { Refused } from './http/refusal.ts';
import { findRoute, type Route } from './http/router.ts';
import { inUrl, isWildcard, servedNames } from './http/served-names.ts';
import { createSignIn } from './http/sign-in.ts';
import { signInPage } from './http/sign-in-page.ts';
import { loadStaticFiles, sendStatic, type StaticFiles } from './http/static-files.ts';
import type { RemoteRuns } from './remote.ts';
import { createRoutes } from './routes.ts';

export interface WebOptions {
  readonly project: Project;
  readonly env: NodeJS.ProcessEnv;
  readonly host: string;
  /** null: the usual port, or any other if it is in use. */
  readonly port: number | null;
  readonly readOnly: boolean;
  /** Where a reverse proxy serves the page. */
  readonly publicUrl: URL | null;
  /** The runs on other machines; null without a queue. */
  readonly remote: RemoteRuns | null;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | null;
}

export interface WebServer {
  /** The address with the token. */
  readonly url: string;
  readonly port: number;
  /** Ends all streams and frees the port. */
  close(): Promise<void>;
}

/** The same for all projects, so that a bookmark and a signed-in page survive a restart. */
export const usualPort = 7765;

/** Serves the page and its API until it is closed. Throws if the port is in use. */
export const startWeb = async (options: WebOptions): Promise<WebServer> => {
  const { project, env, host, readOnly, publicUrl, tls, remote } = options;
  const { routes, close } = createRoutes({ project, env, readOnly, remote });
  const files = loadStaticFiles();
  let listener: (request: IncomingMessage, response: ServerResponse) => void = () => {};
  const server = createServer(tls, (request, response) => listener(request, response));
  const port = await listen(server, { host, port: options.port });
  const isSecure = tls !== null;
  const names = servedNames({ host, port, isSecure, publicUrl });
  const signIn = createSignIn({ key: loadKey(project, env), port });
  listener = (request, response) => {
    const isHead = request.method === 'HEAD';
    const acceptsGzip = /\bgzip\b/.test(request.headers['accept-encoding']?.toString() ?? '');
    const reply: Reply = { response, isHead, acceptsGzip };
    const answered = answer({
      request,
      reply,
      names,
      signIn,
      routes,
      files,
      isSecure: isSecure || publicUrl?.protocol === 'https:',
    });
    answered.catch((error: unknown) => sendRefusal(reply, refusalOf(error)));
  };
  const base =
    publicUrl?.origin ?? `${isSecure ? 'https' : 'http'}://${isWildcard(host) ? 'localhost' : inUrl(host)}:${port}`;
  return {
    url: `${base}/?token=${signIn.token}`,
    port,
    close: async () => {
      close();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};

/** A client that is slow, sends too much, or opens too many connections, is dropped. */
const limits = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 2000,
} as const;
const maxConnections = 300;

const clientErrors: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

const createServer = (
  tls: WebOptions['tls'],
  listener: (request: IncomingMessage, response: ServerResponse) => void,
) => {
  const server = tls === null ? createHttpServer(limits, listener) : createHttpsServer({ ...limits, ...tls }, listener);
  server.maxConnections = maxConnections;
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    const status = clientErrors[code ?? ''] ?? '400 Bad Request';
    if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    else socket.destroy();
  });
  return server;
};

const listen = async (
  server: ReturnType<typeof createServer>,
  { host, port }: Pick<WebOptions, 'host' | 'port'>,
): Promise<number> => {
  const attempt = async (wanted: number): Promise<number> => {
    server.listen(wanted, host);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  try {
    return await attempt(port ?? usualPort);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && port === null) return attempt(0);
    const address = `${inUrl(host)}:${port ?? usualPort}`;
    if (code === 'EADDRINUSE') throw userError('port-in-use', address);
    throw userError('web-failed', address, systemProblem(error));
  }
};

interface Answering {
  readonly request: IncomingMessage;
  readonly reply: Reply;
  readonly names: ReturnType<typeof servedNames>;
  readonly signIn: ReturnType<typeof createSignIn>;
  readonly routes: readonly Route[];
  readonly files: StaticFiles;
  readonly isSecure: boolean;
}

const answer = async (answering: Answering): Promise<void> => {
  const { request, reply, names, signIn, routes, files, isSecure } = answering;
  const refusal = checkRequest(request, names);
  if (refusal !== null) return sendRefusal(reply, refusal);
  const { pathname, searchParams: query } = new URL(request.url!, 'http://spool');
  const token = pathname === '/' && request.method !== 'POST' ? query.get('token') : null;
  const cookie = token === null ? null : signIn.cookieFor(token, isSecure);
  // Without the token in the address, it is neither in the history nor in a screenshot.
  if (cookie !== null)
    return send(reply, {
      status: 303,
      body: Buffer.alloc(0),
      headers: { location: '/', 'set-cookie': cookie, 'cache-control': 'no-store' },
    });
  if (!signIn.isSignedIn(request.headers.cookie)) return sendSignIn(reply, isApi(request.url));
  const file = files.get(pathname) ?? (pathname.startsWith('/changes/') ? files.get('/') : undefined);
  if (file !== undefined && request.method !== 'POST')
    return sendStatic(reply, file, {
      accepts: request.headers['accept-encoding']?.toString(),
      known: request.headers['if-none-match'],
    });
  const { route, params } = findRoute(routes, request.method!, pathname);
  const value = await route.handle({ params, query, request, reply });
  if (value !== undefined) await sendJson(reply, value);
};

const sendSignIn = (reply: Reply, isForProgram: boolean): void => {
  if (isForProgram)
    return sendRefusal(reply, {
      status: 401,
      code: 'unauthorized',
      message: 'Open the address that "spool web" has printed.',
    });
  const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' };
  send(reply, { status: 401, body: Buffer.from(signInPage), headers });
};

const refusalOf = (error: unknown): Refused['refusal'] => {
  if (error instanceof Refused) return error.refusal;
  const known = asUserError(error);
  if (known !== null) return { status: 409, code: known.code, message: known.message };
  return { status: 500, code: 'bug', message: error instanceof Error ? error.message : String(error) };
};
