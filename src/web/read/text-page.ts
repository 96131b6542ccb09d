import { maxRedactedLength, type Redactor } from '../../secrets/redact.ts';
import { type LinePlace, readPart, withFile } from '../../store/scan-lines.ts';
import { withoutControls } from '../../text/controls.ts';
import type { TextPage } from '../api.ts';

const newline = 0x0a;
const defaultLength = 64 * 1024;
const maxLength = 256 * 1024;

export interface TextRequest {
  /** In bytes; null for the end of the file. */
  readonly offset: number | null;
  /** In bytes; 0 for the usual length. */
  readonly length: number;
}

/**
 * Reads a window of a text file; null if there is none. A window ends behind a line, or behind a character if a line is
 * longer than the window, so that the windows of a file follow each other without a gap.
 */
export const readTextPage = (redactor: Redactor, path: string, request: TextRequest): Promise<TextPage | null> =>
  withFile(path, (file, { size }) => pageOf(redactor, { size, read: (place) => readPart(file, place) }, request));

/** The same for a file that is in memory. */
export const textPageOf = (redactor: Redactor, contents: Buffer, request: TextRequest): TextPage =>
  pageOf(
    redactor,
    { size: contents.length, read: ({ offset, length }) => contents.subarray(offset, offset + length) },
    request,
  );

interface Contents {
  readonly size: number;
  readonly read: (place: LinePlace) => Buffer;
}

const pageOf = (redactor: Redactor, { size, read }: Contents, request: TextRequest): TextPage => {
  const length = Math.min(request.length || defaultLength, maxLength);
  const offset = Math.min(request.offset ?? Math.max(0, size - length), size);
  const bytes = read({ offset, length: Math.min(length, size - offset) });
  const isLast = offset + bytes.length >= size;
  const end = isLast ? bytes.length : bytes.lastIndexOf(newline) + 1 || characterEnd(bytes);
  const nextOffset = offset + end;
  // A secret may begin before the window, or end after it.
  const from = Math.max(0, offset - maxRedactedLength);
  const texts = [
    read({ offset: from, length: offset - from }),
    bytes.subarray(0, end),
    read({ offset: nextOffset, length: Math.min(maxRedactedLength, size - nextOffset) }),
  ].map((part) => withoutControls(part.toString('utf8')));
  const start = texts[0]!.length;
  return { text: redactor.part(texts.join(''), start, start + texts[1]!.length), offset, nextOffset, size };
};

/** Where the last whole character ends. */
const characterEnd = (bytes: Buffer): number => {
  let end = bytes.length;
  while (end > 0 && bytes.length - end < 4 && (bytes[end - 1]! & 0b1100_0000) === 0b1000_0000) end--;
  const lead = bytes[end - 1] ?? 0;
  const needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return end - 1 + needed <= bytes.length ? bytes.length : end - 1 || bytes.length;
};
