import { hostname } from 'node:os';
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
 * rebinding). An address cannot be pointed elsewhere, so on a wildcard host all addresses are served: which ones lead here
 * changes with the network, and in a container they are those of its host.
 */
export const servedNames = ({ host, port, isSecure, publicUrl }: Served): ServedNames => {
  const scheme = isSecure ? 'https' : 'http';
  const names = new Set(['localhost', '127.0.0.1', '[::1]', inUrl(host), ...(isWildcard(host) ? [hostname()] : [])]);
  const hosts = new Set([...names].flatMap((name) => hostsOf(name.toLowerCase(), port, isSecure)));
  const isOwnAddress = (given: string): boolean => {
    const address = given.replace(/:\d+$/, '');
    const isAddress = isIP(address) === 4 || (/^\[.*\]$/.test(address) && isIP(address.slice(1, -1)) === 6);
    return isWildcard(host) && isAddress && hostsOf(address, port, isSecure).includes(given);
  };
  return {
    isServed: (given) =>
      hosts.has(given.toLowerCase()) || given.toLowerCase() === publicUrl?.host || isOwnAddress(given),
    originFor: (given) =>
      given.toLowerCase() === publicUrl?.host ? publicUrl.origin : `${scheme}://${given.toLowerCase()}`,
  };
};

/** Browsers leave out the default port. */
const hostsOf = (name: string, port: number, isSecure: boolean): string[] =>
  port === (isSecure ? 443 : 80) ? [name, `${name}:${port}`] : [`${name}:${port}`];

/** An address as browsers write it in a URL. */
export const inUrl = (host: string): string => (isIP(host) === 6 ? new URL(`http://[${host}]`).hostname : host);

const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
