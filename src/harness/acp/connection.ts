import { asObject, field, numberAt, parseObject, textAt } from '../json.ts';

/** What became of a request. */
export type Answer =
  | { readonly type: 'result'; readonly result: unknown }
  | ({ readonly type: 'error' } & RpcError)
  /** There was no answer in time. */
  | { readonly type: 'timeout' }
  /** The agent has exited, or nothing more is expected of it. */
  | { readonly type: 'gone' };

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

export const methodNotFound = -32601;

export interface Connection {
  /** `onAnswer` is called before the next message is received. */
  request(method: string, params: object, timeoutMs: number, onAnswer?: () => void): Promise<Answer>;
  notify(method: string, params: object): void;
  /** Takes a line of the agent. What is not a message, and answers to requests that were never made, are ignored. */
  receive(line: string): void;
  /** Answers all open requests with `gone`. */
  end(): void;
}

export interface Peer {
  /** Sends a message, which has no "\n". */
  send(message: string): void;
  /** Returns the result of a request of the agent, or null for a method that is not supported. */
  onRequest(method: string, params: unknown): object | null;
}

/** JSON-RPC 2.0 as the client of an agent. Nothing that an agent sends makes it throw or wait. */
export const createConnection = ({ send, onRequest }: Peer): Connection => {
  const open = new Map<number, (answer: Answer) => void>();
  let lastId = 0;
  let hasEnded = false;

  const settle = (id: number, answer: Answer): void => {
    const resolve = open.get(id);
    open.delete(id);
    resolve?.(answer);
  };

  const reply = (id: unknown, method: string, params: unknown): void => {
    const result = onRequest(method, params);
    const outcome =
      result === null ? { error: { code: methodNotFound, message: `Method not found: ${method}` } } : { result };
    send(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
  };

  return {
    request: (method, params, timeoutMs, onAnswer) =>
      new Promise((resolve) => {
        if (hasEnded) return resolve({ type: 'gone' });
        const id = ++lastId;
        const timer = timeoutMs === Infinity ? undefined : setTimeout(() => settle(id, { type: 'timeout' }), timeoutMs);
        open.set(id, (answer) => {
          clearTimeout(timer);
          onAnswer?.();
          resolve(answer);
        });
        send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      }),
    notify: (method, params) => {
      if (!hasEnded) send(JSON.stringify({ jsonrpc: '2.0', method, params }));
    },
    receive: (line) => {
      const message = parseObject(line);
      if (message === null || hasEnded) return;
      const { id } = message;
      const method = textAt(message, 'method');
      // A request may have any ID. Without one it is a notification, which is not answered.
      if (method !== null) return id === undefined || id === null ? undefined : reply(id, method, message.params);
      if (typeof id === 'number') settle(id, answerIn(message));
    },
    end: () => {
      hasEnded = true;
      for (const id of open.keys()) settle(id, { type: 'gone' });
    },
  };
};

const answerIn = (message: Record<string, unknown>): Answer =>
  asObject(message.error) === null
    ? { type: 'result', result: message.result }
    : { type: 'error', ...rpcErrorIn(message.error) };

export const rpcErrorIn = (error: unknown): RpcError => ({
  code: numberAt(error, 'code') ?? 0,
  message: textAt(error, 'message') ?? 'an error without a message',
  data: field(error, 'data'),
});
