import { randomBytes } from 'node:crypto';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { parseJsonText } from '../../text/json.ts';
import type { AcpDetails, AcpStart } from '../harness.ts';
import type { Usage } from '../../ralph/agent-events.ts';
import { asObject, field, numberAt, parseObject, sum, textAt } from '../json.ts';
import { opencodeProblem, opencodeUsage, unfinishedReason } from './opencode.ts';

/**
 * `opencode acp` also listens on a port, by default always on the same one and without a password, so that every user of
 * the machine could use the agent. The port is also where it reports what the protocol does not have.
 */
export const startOpencode = async (env: NodeJS.ProcessEnv): Promise<AcpStart> => {
  const password = randomBytes(24).toString('hex');
  const port = await freePort();
  return {
    args: ['acp', '--hostname', '127.0.0.1', '--port', String(port)],
    env: { OPENCODE_SERVER_PASSWORD: password, OPENCODE_CONFIG_CONTENT: withoutTitles(env.OPENCODE_CONFIG_CONTENT) },
    details: detailsAt(port, password),
    whyUnsafe: (stop) => whyOpen(port, stop),
  };
};

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });

/** Without this it sends the whole prompt a second time to generate a title. */
const withoutTitles = (given: string | undefined): string => {
  const config = parseObject(given?.trim() || '{}');
  // OpenCode reports what is wrong with it.
  if (config === null) return given!;
  const agent = { ...asObject(config.agent), title: { ...asObject(field(config, 'agent', 'title')), disable: true } };
  return JSON.stringify({ ...config, agent });
};

const detailsAt = (port: number, password: string): AcpDetails => {
  const ask = (path: string) => askServer({ port, password, path });
  return {
    usage: async (session) => {
      const path = `/session/${encodeURIComponent(session)}`;
      const info = await ask(path);
      if (asObject(field(info, 'tokens')) !== null) return unlessNothing(opencodeUsage(info));
      return info === null ? null : usageOfMessages(await ask(`${path}/message`));
    },
    waiting: async (session) => {
      const status = field(await ask('/session/status'), session);
      if (field(status, 'type') !== 'retry') return null;
      return `OpenCode retries after an error (attempt ${numberAt(status, 'attempt') ?? '?'}): ${textAt(status, 'message') ?? ''}`;
    },
    ending: async (session) => {
      const messages = await ask(`/session/${encodeURIComponent(session)}/message?limit=1`);
      const last = field(Array.isArray(messages) ? messages.at(-1) : null, 'info');
      const error = asObject(field(last, 'error'));
      if (error !== null) return { problem: opencodeProblem(error) };
      const unfinished = unfinishedReason(textAt(last, 'finish'));
      return unfinished === null ? {} : { unfinished };
    },
  };
};

/** Old versions report the usage of each message only. */
const usageOfMessages = (messages: unknown): Usage | null => {
  const infos = (Array.isArray(messages) ? messages : []).map((each) => field(each, 'info'));
  const all = infos.filter((info) => asObject(field(info, 'tokens')) !== null).map(opencodeUsage);
  return all.length === 0 ? null : unlessNothing(all.reduce(usageSum));
};

/** Zero also stands for a model that has not answered, of which nothing is known. */
const unlessNothing = (usage: Usage): Usage | null => (Object.values(usage).some(Boolean) ? usage : null);

const usageSum = (one: Usage, other: Usage): Usage =>
  Object.fromEntries(
    (Object.keys(one) as (keyof Usage)[]).map((key) => [key, sum(one[key], other[key])]),
  ) as unknown as Usage;

/** Returns null if the server answers only with the password. Old versions ignore that one is set. */
const whyOpen = (port: number, stop: AbortSignal): Promise<string | null> =>
  new Promise((resolve) => {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(checkMs)]);
    const request = get({ host: '127.0.0.1', port, path: '/session', agent: false, signal }, (response) => {
      response.destroy();
      resolve(response.statusCode === 401 ? null : 'its server takes no password');
    });
    // A refused connection: nothing listens there.
    request.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ECONNREFUSED' ? null : 'its server did not answer'),
    );
  });

const checkMs = 15_000;

interface Question {
  readonly port: number;
  readonly password: string;
  readonly path: string;
}

const answerMs = 3000;
const maxAnswer = 16 * 1024 * 1024;

/** Returns null if there is no answer. Never rejects. */
const askServer = ({ port, password, path }: Question): Promise<unknown> =>
  new Promise((resolve) => {
    const request = get(
      { host: '127.0.0.1', port, path, auth: `opencode:${password}`, agent: false, timeout: answerMs },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
          if (text.length > maxAnswer) request.destroy();
        });
        response.on('error', () => resolve(null));
        response.on('end', () => resolve(response.statusCode === 200 ? parsed(text) : null));
      },
    );
    request.on('error', () => resolve(null));
    request.on('close', () => resolve(null));
    request.on('timeout', () => request.destroy());
  });

const parsed = (text: string): unknown => {
  try {
    return parseJsonText(text);
  } catch {
    return null;
  }
};
