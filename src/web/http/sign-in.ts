import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * Who may use a server. A person shows the token of the printed address once and gets a cookie for it. The token is new
 * with every start. The key outlives the server, so that open pages stay signed in when it is started again.
 */
export interface SignIn {
  readonly token: string;
  /** A token that is valid once, for a short time, for a browser of this user. */
  oneTimeToken(): string;
  /** Returns the Set-Cookie header for the right token; null for any other. */
  cookieFor(token: string, client: SignInClient): string | null;
  /** `header`: the Cookie header of a request. */
  isSignedIn(header: string | undefined): boolean;
}

export interface SignInClient {
  /** Its connection is encrypted. */
  readonly isSecure: boolean;
  /** Whether it is a program of the user who runs this server. */
  readonly isFromOwnUser: () => boolean;
}

const tokenBytes = 32;
const oneTimeMs = 2 * 60_000;
const validMs = 30 * 24 * 60 * 60_000;

export const createSignIn = ({ key, port }: { readonly key: Buffer; readonly port: number }): SignIn => {
  const newToken = () => randomBytes(tokenBytes).toString('base64url');
  const token = newToken();
  const oneTime = new Map<string, number>();
  // All ports of a host share their cookies.
  const name = `spool_web_${port}`;
  const sign = (until: string): string => createHmac('sha256', key).update(`${name} ${until}`).digest('base64url');
  const isOneTime = (given: string, { isFromOwnUser }: SignInClient): boolean => {
    const issuedMs = oneTime.get(given);
    if (issuedMs === undefined || performance.now() - issuedMs > oneTimeMs || !isFromOwnUser()) return false;
    return oneTime.delete(given);
  };
  return {
    token,
    oneTimeToken: () => {
      const created = newToken();
      oneTime.set(created, performance.now());
      return created;
    },
    cookieFor: (given, client) => {
      if (!isEqual(given, token) && !isOneTime(given, client)) return null;
      const until = String(Date.now() + validMs);
      const flags = `Path=/; Max-Age=${validMs / 1000}; HttpOnly; SameSite=Strict${client.isSecure ? '; Secure' : ''}`;
      return `${name}=${until}.${sign(until)}; ${flags}`;
    },
    isSignedIn: (header = '') => {
      const values = header.split(';').map((part) => part.trim());
      return values.some((part) => {
        const [, until = '', given = ''] = /^spool_web_\d{1,5}=(\d{1,16})\.([\w-]{20,100})$/.exec(part) ?? [];
        return part.startsWith(`${name}=`) && isEqual(given, sign(until)) && Number(until) > Date.now();
      });
    },
  };
};

/** Takes as long for a wrong value as for the right one. */
const isEqual = (given: string, expected: string): boolean => {
  const [a, b] = [given, expected].map((text) => createHmac('sha256', comparisonKey).update(text).digest());
  return timingSafeEqual(a!, b!);
};

/** Hashes have the same length for any input. */
const comparisonKey = randomBytes(32);
