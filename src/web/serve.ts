import type { IncomingMessage, ServerResponse } from 'node:http';
import { asUserError } from '../errors.ts';
import type { Project } from '../store/project.ts';
import { type Reply, send, sendJson, sendRefusal } from './http/answer.ts';
import { checkRequest, isApi } from './http/check-request.ts';
import { loadKey } from './http/key.ts';
import { isFromOwnUser } from './http/peer.ts';
import { Refused } from './http/refusal.ts';
import { findRoute, type Route } from './http/router.ts';
import { inUrl, servedNames, type ServedNames } from './http/served-names.ts';
import { openServer, type ServerOptions } from './http/server.ts';
import { createSignIn, type SignIn, type SignInClient } from './http/sign-in.ts';
import { signInPage } from './http/sign-in-page.ts';
import { loadStaticFiles, sendStatic, type StaticFiles } from './http/static-files.ts';
import type { RemoteRuns } from './remote.ts';
import { createRoutes } from './routes.ts';

export interface WebOptions extends ServerOptions {
  readonly project: Project;
  readonly env: NodeJS.ProcessEnv;
  readonly readOnly: boolean;
  /** Where a reverse proxy serves the page. */
  readonly publicUrl: URL | null;
  /** The runs on other machines; null without a queue. */
  readonly remote: RemoteRuns | null;
}

export interface WebServer {
  /** The address with the token. */
  readonly url: string;
  /** The address for a browser that another program starts: other users can see the arguments of a program. */
  oneTimeUrl(): string;
  readonly port: number;
  /** Ends all streams and frees the port. */
  close(): Promise<void>;
}

/** Serves the page and its API until it is closed. Throws if the port is in use. */
export const startWeb = async (options: WebOptions): Promise<WebServer> => {
  const { project, env, host, readOnly, publicUrl, tls, remote } = options;
  const { routes, toJson, close } = createRoutes({ project, env, readOnly, remote });
  const files = loadStaticFiles();
  let listener: (request: IncomingMessage, response: ServerResponse) => void = () => {};
  const server = await openServer(options, (request, response) => listener(request, response));
  const { port, strangers } = server;
  const isSecure = tls !== null;
  const names = servedNames({ host, port, isSecure, publicUrl });
  const signIn = createSignIn({ key: loadKey(project, env), port });
  listener = (request, response) => {
    const isHead = request.method === 'HEAD';
    const acceptsGzip = /\bgzip\b/.test(request.headers['accept-encoding']?.toString() ?? '');
    const reply: Reply = { response, isHead, acceptsGzip, toJson };
    const answered = answer({
      request,
      reply,
      names,
      signIn,
      client: {
        isSecure: isSecure || publicUrl?.protocol === 'https:',
        // A proxy has a user of its own.
        isFromOwnUser: () => publicUrl !== null || isFromOwnUser(request.socket),
      },
      onSignedIn: () => strangers.signedIn(request),
      routes,
      files,
    });
    answered.catch((error: unknown) => sendRefusal(reply, refusalOf(error)));
  };
  const base = publicUrl?.origin ?? `${isSecure ? 'https' : 'http'}://${inUrl(server.ownAddress)}:${port}`;
  return {
    url: `${base}/?token=${signIn.token}`,
    oneTimeUrl: () => `${base}/?token=${signIn.oneTimeToken()}`,
    port,
    close: async () => {
      close();
      await server.close();
    },
  };
};

interface Answering {
  readonly request: IncomingMessage;
  readonly reply: Reply;
  readonly names: ServedNames;
  readonly signIn: SignIn;
  readonly client: SignInClient;
  readonly onSignedIn: () => void;
  readonly routes: readonly Route[];
  readonly files: StaticFiles;
}

const answer = async (answering: Answering): Promise<void> => {
  const { request, reply, names, signIn, client, onSignedIn, routes, files } = answering;
  const refusal = checkRequest(request, names);
  if (refusal !== null) return sendRefusal(reply, refusal);
  const { pathname, searchParams: query } = new URL(request.url!, 'http://spool');
  const token = pathname === '/' && request.method !== 'POST' ? query.get('token') : null;
  const cookie = token === null ? null : signIn.cookieFor(token, client);
  // Without the token in the address, it is neither in the history nor in a screenshot.
  if (cookie !== null)
    return send(reply, {
      status: 303,
      body: Buffer.alloc(0),
      headers: { location: '/', 'set-cookie': cookie, 'cache-control': 'no-store' },
    });
  if (!signIn.isSignedIn(request.headers.cookie)) return sendSignIn(reply, isApi(request.url));
  onSignedIn();
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
