import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * Who may use a server. A person shows the token of the printed address once and gets a cookie for it. The token is new
 * with every start. The key outlives the server, so that open pages stay signed in when it is started again.
 */
export interface SignIn {
  readonly token: string;
  /** Returns the Set-Cookie header for the right token; null for any other. */
  cookieFor(token: string, isSecure: boolean): string | null;
  /** `header`: the Cookie header of a request. */
  isSignedIn(header: string | undefined): boolean;
}

const tokenBytes = 32;
const validMs = 30 * 24 * 60 * 60_000;

export const createSignIn = ({ key, port }: { readonly key: Buffer; readonly port: number }): SignIn => {
  const token = randomBytes(tokenBytes).toString('base64url');
  // All ports of a host share their cookies.
  const name = `spool_web_${port}`;
  const sign = (until: string): string => createHmac('sha256', key).update(`${name} ${until}`).digest('base64url');
  return {
    token,
    cookieFor: (given, isSecure) => {
      if (!isEqual(given, token)) return null;
      const until = String(Date.now() + validMs);
      const flags = `Path=/; Max-Age=${validMs / 1000}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
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

/** Hashes have the same length, whatever was given. */
const comparisonKey = randomBytes(32);
