import type { IncomingMessage } from 'node:http';
import { notFound, Refused } from './refusal.ts';
import type { Reply } from './answer.ts';

/** One request, as a route sees it. */
export interface RouteCall {
  /** The parts of the path that the pattern names, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly reply: Reply;
}

export interface Route {
  readonly method: 'GET' | 'POST';
  /** Such as `/api/changes/:change`. */
  readonly path: string;
  /** Returns what is sent as JSON, or undefined if it has answered by itself. */
  readonly handle: (call: RouteCall) => Promise<unknown>;
}

const maxParam = 300;

/** Finds the route of a request. Throws a refusal if there is none, or none for its method. */
export const findRoute = (
  routes: readonly Route[],
  method: string,
  path: string,
): { readonly route: Route; readonly params: Readonly<Record<string, string>> } => {
  const parts = path.split('/').map(decoded);
  const matches = routes.flatMap((route) => {
    const params = paramsOf(route.path.split('/'), parts);
    return params === null ? [] : [{ route, params }];
  });
  const found = matches.find(({ route }) => route.method === (method === 'HEAD' ? 'GET' : method));
  if (found) return found;
  if (matches.length === 0) throw notFound();
  const allow = [...new Set(matches.map(({ route }) => route.method))].join(', ');
  throw new Refused({
    status: 405,
    code: 'wrong-method',
    message: `Only ${allow} is answered here.`,
    headers: { allow },
  });
};

const paramsOf = (pattern: readonly string[], parts: readonly string[]): Record<string, string> | null => {
  if (pattern.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [index, expected] of pattern.entries()) {
    const part = parts[index]!;
    if (!expected.startsWith(':')) {
      if (expected !== part) return null;
      continue;
    }
    if (part === '' || part.length > maxParam) return null;
    params[expected.slice(1)] = part;
  }
  return params;
};

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    throw notFound();
  }
};
