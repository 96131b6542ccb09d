import { readPart, withFile } from '../../store/scan-lines.ts';
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
export const readTextPage = (path: string, request: TextRequest): Promise<TextPage | null> =>
  withFile(path, (file, { size }) => {
    const length = Math.min(request.length || defaultLength, maxLength);
    const offset = Math.min(request.offset ?? Math.max(0, size - length), size);
    return pageOf(readPart(file, { offset, length: Math.min(length, size - offset) }), offset, size);
  });

/** The same for a file that is in memory. */
export const textPageOf = (contents: Buffer, request: TextRequest): TextPage => {
  const length = Math.min(request.length || defaultLength, maxLength);
  const offset = Math.min(request.offset ?? Math.max(0, contents.length - length), contents.length);
  return pageOf(contents.subarray(offset, offset + length), offset, contents.length);
};

const pageOf = (bytes: Buffer, offset: number, size: number): TextPage => {
  const isLast = offset + bytes.length >= size;
  const end = isLast ? bytes.length : bytes.lastIndexOf(newline) + 1 || characterEnd(bytes);
  return { text: bytes.subarray(0, end).toString('utf8'), offset, nextOffset: offset + end, size };
};

/** Where the last whole character ends. */
const characterEnd = (bytes: Buffer): number => {
  let end = bytes.length;
  while (end > 0 && bytes.length - end < 4 && (bytes[end - 1]! & 0b1100_0000) === 0b1000_0000) end--;
  const lead = bytes[end - 1] ?? 0;
  const needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return end - 1 + needed <= bytes.length ? bytes.length : end - 1 || bytes.length;
};
