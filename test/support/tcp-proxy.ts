import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Stands between a worker and its database, like a network that can fail. */
export interface TcpProxy {
  readonly port: number;
  /** From now on nothing arrives at either side, without an error. */
  cut(): void;
  /** What was sent in the meantime arrives, or all connections are reset. */
  restore(how: 'late' | 'reset'): void;
}

export const startProxy = async (target: () => number): Promise<TcpProxy> => {
  const sockets = new Set<Socket>();
  let isCut = false;
  const join = (client: Socket): void => {
    const server = connect(target(), '127.0.0.1');
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => to.write(bytes));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (isCut) from.pause();
    }
  };
  const listener = createServer(join);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  return {
    port: (listener.address() as AddressInfo).port,
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.pause();
    },
    restore: (how) => {
      isCut = false;
      for (const socket of sockets) {
        if (how === 'reset') socket.destroy();
        else socket.resume();
      }
    },
  };
};
