import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';

/** The connections without a request of a user who has signed in. */
export interface Strangers {
  /** The connection of this request is that of a user from now on. */
  signedIn(request: IncomingMessage): void;
}

const maxStrangers = 100;
/** A browser sends its request at once. */
const patienceMs = 1000;

/**
 * Drops the oldest of them if there are too many, so that a client that only opens connections cannot use up those that
 * the server accepts.
 */
export const limitStrangers = (server: Server): Strangers => {
  /** Oldest first. */
  const strangers = new Map<string, { readonly socket: Socket; readonly sinceMs: number }>();
  const dropOldest = () => {
    for (const [key, { socket, sinceMs }] of strangers) {
      if (strangers.size <= maxStrangers || performance.now() - sinceMs < patienceMs) return;
      strangers.delete(key);
      socket.destroy();
    }
  };
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    strangers.set(key, { socket, sinceMs: performance.now() });
    socket.once('close', () => {
      if (strangers.get(key)?.socket === socket) strangers.delete(key);
    });
    dropOldest();
  });
  // The server has all connections that it accepts.
  server.on('drop', dropOldest);
  return { signedIn: ({ socket }) => void strangers.delete(keyOf(socket)) };
};

/** With TLS, the socket of a request is another object than that of its connection. */
const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
