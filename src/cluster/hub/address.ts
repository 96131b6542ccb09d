import { hostname } from 'node:os';
import { join } from 'node:path';
import { readJson } from '../../files/read.ts';
import { replaceSafely } from '../../files/safe.ts';
import { count, object, orNull, required, text } from '../../text/shape.ts';
import type { Role } from '../roles.ts';
import { everywhere } from './certificate.ts';

/** How clients reach a hub, with their passwords. Saved in its folder, which only its user can read. */
export interface HubAddress {
  readonly host: string;
  readonly port: number;
  /** The file with which clients check the server; null without TLS. */
  readonly certificate: string | null;
  readonly passwords: Readonly<Record<Role, string>>;
}

/** The database of the queue. */
export const databaseName = 'spool';

const shape = object<HubAddress>({
  host: required(text),
  port: required(count),
  certificate: required(orNull(text)),
  passwords: required(object<HubAddress['passwords']>({ spool_worker: required(text), spool_user: required(text) })),
});

const addressFile = (folder: string) => join(folder, 'hub.json');

/** Returns null if no hub was started in this folder. */
export const readAddress = (folder: string): HubAddress | null => shape(readJson(addressFile(folder))) ?? null;

/** Keeps the passwords of a hub that was started before. */
export const saveAddress = (folder: string, reached: Omit<HubAddress, 'passwords'>): HubAddress => {
  const passwords = readAddress(folder)?.passwords ?? { spool_worker: newPassword(), spool_user: newPassword() };
  const address = { ...reached, passwords };
  replaceSafely(addressFile(folder), `${JSON.stringify(address, null, 2)}\n`);
  return address;
};

const newPassword = () => crypto.randomUUID().replaceAll('-', '');

/** What a client sets SPOOL_QUEUE to. */
export const urlFor = ({ host, port, certificate, passwords }: HubAddress, role: Role): string => {
  const named = everywhere.has(host) ? hostname() : host;
  const url = new URL(`postgres://${named.includes(':') ? `[${named}]` : named}:${port}/${databaseName}`);
  [url.username, url.password] = [role, passwords[role]];
  if (certificate !== null) {
    url.searchParams.set('sslmode', 'verify-full');
    url.searchParams.set('sslrootcert', certificate);
  }
  return url.href;
};
