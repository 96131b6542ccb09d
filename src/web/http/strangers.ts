import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';

/** The connections over which nobody has signed in yet. */
export interface Strangers {
  /** Its connection is that of a user from now on. */
  signedIn(request: IncomingMessage): void;
}

const maxStrangers = 100;

/**
 * Drops the oldest of them if there are too many, so that somebody who only opens connections cannot keep users out: their
 * browsers send a request at once.
 */
export const limitStrangers = (server: Server): Strangers => {
  const strangers = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    strangers.set(key, socket);
    socket.once('close', () => {
      if (strangers.get(key) === socket) strangers.delete(key);
    });
    if (strangers.size <= maxStrangers) return;
    const [oldest, connection] = strangers.entries().next().value!;
    strangers.delete(oldest);
    connection.destroy();
  });
  return { signedIn: ({ socket }) => void strangers.delete(keyOf(socket)) };
};

/** With TLS, the socket of a request is another object than that of its connection. */
const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
