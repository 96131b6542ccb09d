import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ApiError } from '../api.ts';
import { securityHeaders } from './headers.ts';
import type { Refusal } from './refusal.ts';

const compress = promisify(gzip);

/** How long a client may not read its answer. */
export const unreadMs = 60_000;

/** Shorter answers fit into one packet anyway. */
const minCompressed = 1400;

export interface Reply {
  readonly response: ServerResponse;
  readonly acceptsGzip: boolean;
  /** A HEAD request: the headers without the body. */
  readonly isHead: boolean;
  /** JSON without secrets and control characters: data has texts from agents, files and git. */
  readonly toJson: (value: unknown) => string;
}

export const sendJson = async (reply: Reply, value: unknown, status = 200): Promise<void> => {
  const text = Buffer.from(reply.toJson(value));
  const isCompressed = reply.acceptsGzip && text.length >= minCompressed;
  const body = isCompressed ? await compress(text) : text;
  send(reply, {
    status,
    body,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      vary: 'accept-encoding',
      ...(isCompressed && { 'content-encoding': 'gzip' }),
    },
  });
};

export const sendRefusal = (reply: Reply, { status, code, message, headers = {} }: Refusal): void => {
  const error: ApiError = { error: { code, message } };
  const body = Buffer.from(reply.toJson(error));
  const type = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  send(reply, { status, body, headers: { ...type, ...headers } });
};

interface Body {
  readonly status: number;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export const send = ({ response, isHead }: Reply, { status, body, headers }: Body): void => {
  if (response.headersSent || response.destroyed) return;
  response.setTimeout(unreadMs);
  response.writeHead(status, { ...securityHeaders, ...headers, 'content-length': String(body.length) });
  response.end(isHead ? undefined : body);
};
