import { sha256 } from '@noble/hashes/sha2.js';

/** Six hexadecimal digits. */
export const shortHash = (text: string): string =>
  Buffer.from(sha256(Buffer.from(text)))
    .toString('hex')
    .slice(0, 6);
