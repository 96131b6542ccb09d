import { hostname, networkInterfaces } from 'node:os';
import { isIP } from 'node:net';

/** The names under which a browser may ask for this server. */
export interface ServedNames {
  /** `host`: the value of a Host header. */
  isServed(host: string): boolean;
  /** The origin of our own page at this host. */
  originFor(host: string): string;
}

export interface Served {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  /** Where a reverse proxy serves it. */
  readonly publicUrl: URL | null;
}

/**
 * A foreign DNS name that points to this machine is not among them, so a page behind such a name cannot read anything (DNS
 * rebinding). An address cannot be pointed elsewhere, so on a wildcard host all addresses of this machine are served.
 */
export const servedNames = ({ host, port, isSecure, publicUrl }: Served): ServedNames => {
  const scheme = isSecure ? 'https' : 'http';
  const names = new Set(['localhost', '127.0.0.1', '[::1]', inUrl(host), ...(isWildcard(host) ? ownNames() : [])]);
  const hosts = new Set([...names].flatMap((name) => hostsOf(name.toLowerCase(), port, isSecure)));
  return {
    isServed: (given) => hosts.has(given.toLowerCase()) || given.toLowerCase() === publicUrl?.host,
    originFor: (given) =>
      given.toLowerCase() === publicUrl?.host ? publicUrl.origin : `${scheme}://${given.toLowerCase()}`,
  };
};

/** Browsers leave out the default port. */
const hostsOf = (name: string, port: number, isSecure: boolean): string[] =>
  port === (isSecure ? 443 : 80) ? [name, `${name}:${port}`] : [`${name}:${port}`];

/** An address as it is written in a URL. */
export const inUrl = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host);

export const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

const ownNames = (): string[] => [
  hostname(),
  ...Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => inUrl(address))),
];
