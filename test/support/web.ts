import { type IncomingHttpHeaders, request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ActionPreview, ActionResult, OverviewMessage, RunMessage } from '../../src/web/api.ts';
import type { TestProject } from './project.ts';
import { eventually } from './eventually.ts';

/** A request of any client, even of one that lies: all headers can be set, Host included. */
export interface RawRequest {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | undefined;
  /** Aborting it closes the connection. */
  readonly signal?: AbortSignal | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: <Value>() => Value;
}

/** Sends a request. `path` is sent as it is, even if it is not one. */
export const sendRaw = (port: number, path: string, { method = 'GET', headers = {}, body, signal }: RawRequest = {}) =>
  new Promise<RawAnswer>((resolve, reject) => {
    const request = httpRequest(
      {
        host: '127.0.0.1',
        port,
        path,
        method,
        headers: { connection: 'close', ...headers },
        setHost: !('host' in headers),
        signal,
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            text,
            json: <Value>() => JSON.parse(text) as Value,
          }),
        );
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    request.end(body);
  });

type Message = RunMessage | OverviewMessage;
type OfType<Type extends Message['type']> = Extract<Message, { readonly type: Type }>;

/** An open stream, with its messages so far. */
export interface Stream {
  readonly status: number;
  readonly messages: () => readonly Message[];
  /** How many heartbeats there were. */
  readonly pings: () => number;
  /** The id of the last message that had one. */
  readonly lastId: () => string | null;
  /** Resolves to the first message of this type for which `isIt` is true. */
  readonly message: <Type extends Message['type']>(
    type: Type,
    isIt?: (message: OfType<Type>) => boolean,
  ) => Promise<OfType<Type>>;
  readonly close: () => void;
  /** Resolves when the server has ended it. */
  readonly ended: Promise<void>;
}

const openStream = (port: number, path: string, headers: OutgoingHttpHeaders) =>
  new Promise<Stream>((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, path, headers }, (response) => {
      const messages: Message[] = [];
      let pings = 0;
      let [rest, lastId]: [string, string | null] = ['', null];
      response.setEncoding('utf8').on('data', (chunk: string) => {
        const parts = (rest + chunk).split('\n\n');
        rest = parts.pop()!;
        for (const part of parts) {
          if (part.startsWith('event: ping')) {
            pings++;
            continue;
          }
          for (const line of part.split('\n')) {
            if (line.startsWith('id: ')) lastId = line.slice(4);
            if (line.startsWith('data: ')) messages.push(JSON.parse(line.slice(6)) as Message);
          }
        }
      });
      const ended = new Promise<void>((done) => {
        response.on('close', () => done());
        response.on('error', () => done());
      });
      const stream: Stream = {
        status: response.statusCode!,
        messages: () => messages,
        pings: () => pings,
        lastId: () => lastId,
        message: async (type, isIt = () => true) => {
          const find = () => messages.find((each) => each.type === type && isIt(each as OfType<typeof type>));
          await eventually(() => find() !== undefined, `a message "${type}"`);
          return find() as OfType<typeof type>;
        },
        close: () => request.destroy(),
        ended,
      };
      resolve(stream);
    });
    request.on('error', reject);
    onTestFinished(() => void request.destroy());
    request.end();
  });

/** Resolves when the scripted agent has been called this often. */
export const agentCalled = (project: TestProject, times: number): Promise<void> =>
  eventually(() => existsSync(join(project.home, 'agent', `call-${times}`, 'prompt')), `call ${times} of the agent`);

/** `spool web` as a child, on a free port unless one is given, with a client that has signed in. */
export const startWeb = async (
  project: TestProject,
  args: readonly string[] = [],
  options: { readonly env?: Record<string, string>; readonly port?: number } = {},
) => {
  const server = project.start(
    ['web', '--port', String(options.port ?? 0), ...args],
    options.env ? { env: options.env } : {},
  );
  await server.printed('/?token=');
  await eventually(() => /token=[\w-]+\n/.test(server.output()), 'the address');
  const [, url = '', token = ''] = /(https?:\/\/\S+)\/\?token=([\w-]+)/.exec(server.output()) ?? [];
  const port = Number(/Serving \S+ on \S+?:(\d+)\./.exec(server.output())?.[1]);
  const signIn = await sendRaw(port, `/?token=${token}`);
  const cookie = signIn.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  const get = (path: string, headers: OutgoingHttpHeaders = {}) =>
    sendRaw(port, path, { headers: { cookie, ...headers } });
  const post = (path: string, body: unknown, headers: OutgoingHttpHeaders = {}, signal?: AbortSignal) =>
    sendRaw(port, path, {
      signal,
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', 'x-spool': '1', ...headers },
      body: JSON.stringify(body),
    });
  return {
    ...server,
    port,
    url,
    token,
    cookie,
    signIn,
    get,
    post,
    /** Fetches JSON. Fails if there is none. */
    read: async <Value = never>(path: string): Promise<Value> => {
      const answer = await get(path);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
      return answer.json<Value>();
    },
    stream: (path: string, lastId: string | null = null) =>
      openStream(port, path, { cookie, ...(lastId === null ? {} : { 'last-event-id': lastId }) }),
    /** Does what a page does for a dangerous action: looks first, then confirms. */
    confirm: async (action: object): Promise<ActionResult> => {
      const { token } = (await post('/api/preview', { action })).json<ActionPreview>();
      return (await post('/api/actions', { action, token })).json<ActionResult>();
    },
    stop: async () => {
      server.kill('SIGTERM');
      return server.result;
    },
  };
};
