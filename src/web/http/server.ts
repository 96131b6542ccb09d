import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { systemProblem, userError } from '../../errors.ts';
import { inUrl } from './served-names.ts';
import { limitStrangers, type Strangers } from './strangers.ts';

export interface ServerOptions {
  readonly host: string;
  /** null: the usual port, or any other if it is in use. */
  readonly port: number | null;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | null;
}

export interface HttpServer {
  readonly port: number;
  /**
   * Where a browser on this machine finds it. An address where there is one: a name such as localhost has two, and another
   * program may listen on the other one.
   */
  readonly ownAddress: string;
  readonly strangers: Strangers;
  /** Sets what answers requests. Called once, right after the server is open. */
  onRequest(listener: (request: IncomingMessage, response: ServerResponse) => void): void;
  /** Cuts all connections, and frees the port. */
  close(): Promise<void>;
}

/** The same for all projects, so that a bookmark and a signed-in page survive a restart. */
export const usualPort = 7765;

/** Listens, with limits for all that a client can send. Throws if the port is in use. */
export const openServer = async (options: ServerOptions): Promise<HttpServer> => {
  const server = createServer(options.tls);
  const strangers = limitStrangers(server);
  const { port, address } = await listen(server, options);
  return {
    port,
    ownAddress: options.host === 'localhost' ? address : (loopbackOf[address] ?? options.host),
    strangers,
    onRequest: (listener) => void server.on('request', listener),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};

/** The address of this machine, for those that stand for all addresses. */
const loopbackOf: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** A client that is slow, or sends too much, is dropped. */
const limits = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 2000,
} as const;
const handshakeTimeout = 10_000;
const maxConnections = 1000;

const clientErrors: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

const createServer = (tls: ServerOptions['tls']) => {
  const server = tls === null ? createHttpServer(limits) : createHttpsServer({ ...limits, handshakeTimeout, ...tls });
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
  { host, port }: Pick<ServerOptions, 'host' | 'port'>,
): Promise<AddressInfo> => {
  const attempt = async (wanted: number): Promise<AddressInfo> => {
    server.listen(wanted, host);
    await once(server, 'listening');
    return server.address() as AddressInfo;
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
