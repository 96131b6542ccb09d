import { expect, test } from 'vitest';
import { commitErrorLine } from '../../../src/git/commit.ts';

test.each([
  [
    'error: cannot run gpg: No such file or directory\nerror: gpg failed to sign the data\nfatal: failed to write commit object',
    'error: cannot run gpg: No such file or directory; error: gpg failed to sign the data',
  ],
  [
    'error: gpg failed to sign the data:\ngpg: skipped "x": No secret key\n[GNUPG:] INV_SGNR 9 x\n\nfatal: failed to write commit object',
    'error: gpg failed to sign the data:; gpg: skipped "x": No secret key',
  ],
  ['checking\nno such luck', 'no such luck'],
  ['lint: a.js\nhusky - pre-commit script failed (code 1)\n', 'lint: a.js'],
  ['fatal: failed to write commit object', 'fatal: failed to write commit object'],
  ['git was terminated by SIGTERM', 'git was terminated by SIGTERM'],
  ['', ''],
])('the relevant part of %j is %j', (why, told) => {
  expect(commitErrorLine(why)).toBe(told);
});
