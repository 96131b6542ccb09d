import type { IncomingMessage } from 'node:http';
import { asUserError } from '../errors.ts';
import { type Reply, send, sendJson, sendRefusal } from './http/answer.ts';
import { checkRequest, isApi } from './http/check-request.ts';
import { Refused } from './http/refusal.ts';
import { findRoute, type Route } from './http/router.ts';
import type { ServedNames } from './http/served-names.ts';
import type { SignIn, SignInClient } from './http/sign-in.ts';
import { signInPage } from './http/sign-in-page.ts';
import { sendStatic, type StaticFiles } from './http/static-files.ts';

/** What is served: the same for all requests. */
export interface Site {
  readonly names: ServedNames;
  readonly signIn: SignIn;
  readonly routes: readonly Route[];
  readonly files: StaticFiles;
  /** Called with each request of a user who has signed in. */
  readonly onSignedIn: (request: IncomingMessage) => void;
}

export interface SiteRequest {
  readonly request: IncomingMessage;
  readonly client: SignInClient;
  readonly reply: Reply;
}

/** Answers a request with a file of the page or with data. What goes wrong is an answer as well. */
export const answerRequest = (site: Site, request: SiteRequest): Promise<void> =>
  answer(site, request).catch((error: unknown) => sendRefusal(request.reply, refusalOf(error)));

const answer = async (
  { names, signIn, routes, files, onSignedIn }: Site,
  { request, client, reply }: SiteRequest,
): Promise<void> => {
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
  onSignedIn(request);
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
