import * as fc from 'fast-check';
import { expect } from 'vitest';
import { createRedactor } from '../../../src/secrets/redact.ts';
import { chunksOf, chunkSizes } from '../chunks.ts';

const env = {
  MY_API_KEY: 'a-very-secret-value',
  DB_PASSWORD: 'pässwörd-123',
  SSH_AUTH_SOCK: '/tmp/ssh-agent.sock',
  PUBLIC_KEY_PATH: '/home/me/key.pub',
  SHORT_TOKEN: 'abc',
  GITHUB_TOKEN_LIFETIME: '86400000',
  HOME: '/home/someone-long',
};
export const redactor = createRedactor(env);

export const key = `-----BEGIN OPENSSH PRIVATE KEY-----\n${'QUJD\n'.repeat(500)}-----END OPENSSH PRIVATE KEY-----`;

/** Checks that a stream is redacted the same in any chunks. */
export const redactsInAnyChunks = (parameters: { numRuns: number; seed?: number }): void => {
  const text = `start\nMY a-very-secret-value and pässwörd-123\n${'x'.repeat(9000)}AKIAABCDEFGHIJKLMNOP${'y'.repeat(9000)}\n${key}\n\u0000\u001b[1mend`;
  const bytes = new TextEncoder().encode(text);
  const expected = redactor.text(text);
  fc.assert(
    fc.property(chunkSizes, (sizes) => {
      const stream = redactor.stream();
      const parts = chunksOf(bytes, sizes).map((chunk) => Buffer.from(stream.pass(chunk)));
      expect(Buffer.concat([...parts, stream.end()]).toString('utf8')).toBe(expected);
    }),
    parameters,
  );
};
