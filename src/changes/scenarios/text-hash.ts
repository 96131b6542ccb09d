import { sha256 } from '@noble/hashes/sha2.js';
import { wordingOf } from '../wording.ts';
import { isVerifyLine } from './verify-lines.ts';
import { type ShownLine } from '../tasks/visible-lines.ts';

/** The text of a criterion: its title and what is below, without `**Verify**:` lines and the marks of lists. */
export const criterionText = (title: string, body: readonly Pick<ShownLine, 'line' | 'isCode'>[]): string =>
  [
    title,
    ...body
      .filter(({ line, isCode }) => isCode || !isVerifyLine(line))
      .map(({ line, isCode }) => (isCode ? line : line.replace(/^(?:\s*(?:[-*+]|\d{1,9}[.)])(?=\s))+/, ''))),
  ].join('\n');

/** Identifies a text. Ignores what editors and formatters change: white space, list marks and emphasis. */
export const textHash = (text: string): string =>
  Buffer.from(sha256(Buffer.from(wordingOf(text).normalize('NFC'))))
    .toString('hex')
    .slice(0, 32);
