import { StringDecoder } from 'node:string_decoder';

/** In characters. No event is longer; a longer line is plain text and is passed on in pieces. */
const maxLine = 16 * 1024 * 1024;
const maxPlainLine = 32 * 1024;

interface LineSink {
  /** A whole line without its "\n". */
  line(line: string): void;
  /** A part of a line that is too long to be kept in memory. */
  piece(text: string): void;
  /** Optional: receives several whole lines at once, none of which starts with "{" as every event does. */
  plain?(lines: string): void;
}

/** Splits bytes into lines. Characters split between chunks are joined, and lines end only at "\n". */
export const createLineSplitter = (sink: LineSink) => {
  const decoder = new StringDecoder('utf8');
  let held = '';
  /** Set from the first character of a line: inspecting `held` later would copy it. */
  let max = maxLine;
  let overlong = false;
  let first = true;

  const take = (text: string): void => {
    for (let at = 0; at < text.length;) at = takePlain(text, at) ?? takeLine(text, at);
  };

  /** Returns the position after the plain lines that start here, or null if there are none. */
  const takePlain = (text: string, start: number): number | null => {
    if (!sink.plain || held !== '' || overlong || text[start] === '{') return null;
    if (!text.includes('\n', start)) return null;
    // Braces are rare in plain text, so usually one search is enough.
    const event = text.includes('{', start) ? text.indexOf('\n{', start) : -1;
    const end = (event === -1 ? text.lastIndexOf('\n') : event) + 1;
    sink.plain(text.slice(start, end));
    return end;
  };

  const takeLine = (text: string, start: number): number => {
    const end = text.indexOf('\n', start);
    if (end !== -1) {
      const line = held + text.slice(start, end);
      if (overlong) sink.piece(`${line}\n`);
      else sink.line(line);
      held = '';
      overlong = false;
      return end + 1;
    }
    if (held === '') max = sink.plain && text[start] !== '{' ? maxPlainLine : maxLine;
    held += text.slice(start);
    if (!overlong && held.length <= max) return text.length;
    sink.piece(held);
    held = '';
    overlong = true;
    return text.length;
  };

  return {
    write: (chunk: Uint8Array) => {
      const text = decoder.write(asBuffer(chunk));
      // A byte order mark is not part of the first line.
      take(first && text.startsWith('\uFEFF') ? text.slice(1) : text);
      first &&= text === '';
    },
    end: () => {
      take(decoder.end());
      if (held !== '') sink.line(held);
      held = '';
    },
  };
};

const asBuffer = (chunk: Uint8Array) => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
