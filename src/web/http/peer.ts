import type { Socket } from 'node:net';
import { textIfReadable } from '../../files/regular.ts';

/**
 * Whether the process at the other end of a connection is one of this user, or of the superuser. The kernel lists the
 * owners of the connections of this machine on Linux; elsewhere it is not known, and every process passes.
 */
export const isFromOwnUser = ({ localPort, remotePort }: Socket): boolean => {
  const own = process.getuid?.();
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map(textIfReadable);
  if (own === undefined || tables.every((table) => table === '')) return true;
  const owners = tables
    .flatMap((table) => table.split('\n'))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, from = '', to = '']) => portIn(from) === remotePort && portIn(to) === localPort)
    .map((fields) => Number(fields[7]));
  return owners.length > 0 && owners.every((owner) => owner === own || owner === 0);
};

/** `0100007F:1E55` → 7765 */
const portIn = (address: string): number => Number.parseInt(address.split(':')[1] ?? '', 16);
