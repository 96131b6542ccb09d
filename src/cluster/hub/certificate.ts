import { existsSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { userError } from '../../errors.ts';
import { currentEnvironment } from '../../files/environment.ts';
import { removeSafely, renameSafely } from '../../files/safe.ts';
import { startService } from '../../process/service.ts';

export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** The certificate of a hub. One that signs itself is created with openssl unless there is one. */
export const certificateIn = async (folder: string, host: string): Promise<Certificate> => {
  const [certificate, key] = [join(folder, 'server.crt'), join(folder, 'server.key')];
  if (existsSync(certificate) && existsSync(key)) return { certificate, key };
  const [newCertificate, newKey] = [`${certificate}.new`, `${key}.new`];
  removeSafely(newCertificate);
  removeSafely(newKey);
  const args = ['req', '-new', '-x509', '-days', '3650', '-nodes', '-newkey', 'rsa:2048', '-subj', '/CN=spool-hub'];
  const service = startService({
    program: 'openssl',
    args: [...args, '-addext', `subjectAltName=${namesOf(host)}`, '-out', newCertificate, '-keyout', newKey],
    cwd: folder,
    env: currentEnvironment(),
    uid: null,
  });
  if ((await service.exited) !== 0 || !existsSync(newKey))
    throw userError('hub-without-tls', host, service.output().trim().split('\n').at(-1) || 'openssl failed');
  renameSafely(newCertificate, certificate);
  renameSafely(newKey, key);
  return { certificate, key };
};

/** Everything that clients may call this machine. */
const namesOf = (host: string): string => {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
  const names = new Set([host, hostname(), 'localhost', ...addresses]);
  return [...names]
    .filter((name) => !everywhere.has(name) && /^[\w.:-]+$/.test(name))
    .map((name) => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`)
    .join(',');
};

/** Addresses that listen on all interfaces. */
export const everywhere: ReadonlySet<string> = new Set(['0.0.0.0', '::', '*']);
