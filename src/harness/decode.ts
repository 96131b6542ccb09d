import { StringDecoder } from 'node:string_decoder';
import type { AgentEvent } from '../ralph/events.ts';
import type { Decoder } from './harness.ts';

/** No event of an agent is longer; what is longer is plain text and is passed on in pieces. */
const longestLine = 16 * 1024 * 1024;
const longestPlainLine = 32 * 1024;

/**
 * Bytes of a process in, events out: characters cut apart by a chunk are joined, and lines end at "\n" only.
 * Plain lines of one chunk come as one event.
 */
export const createEventStream = (decoder: Decoder, see: (event: AgentEvent) => void) => {
  const seeAll = (events: readonly AgentEvent[]) => events.forEach(see);
  let plain = '';
  let understood = false;
  let notUnderstood = 0;
  const seePlain = () => {
    if (plain !== '') see({ type: 'text', text: plain, plain: true });
    plain = '';
  };
  const stdout = createLineSplitter({
    plain: (lines) => {
      plain += lines;
    },
    line: (line) => {
      const events = decoder.stdout(line);
      if (events === null) {
        plain += `${line}\n`;
        if (line.startsWith('{"')) notUnderstood++;
        return;
      }
      understood = true;
      seePlain();
      seeAll(events);
    },
    piece: (text) => {
      plain += text;
    },
  });
  const stderr = createLineSplitter({
    line: (line) => {
      see({ type: 'stderr', text: line });
      seeAll(decoder.stderr?.(line) ?? []);
    },
    piece: (text) => see({ type: 'stderr', text }),
  });
  return {
    write: (source: 'stdout' | 'stderr', chunk: Uint8Array) => {
      (source === 'stdout' ? stdout : stderr).write(chunk);
      seePlain();
    },
    end: () => {
      stdout.end();
      seePlain();
      stderr.end();
      if (understood && notUnderstood > 0)
        see({
          type: 'stderr',
          text: `Of its output, ${notUnderstood} ${notUnderstood === 1 ? 'line was' : 'lines were'} not understood; is Spool up to date?`,
        });
      seeAll(decoder.end());
    },
  };
};

interface LineSink {
  /** A whole line without its "\n". */
  line(line: string): void;
  /** A part of a line that is too long to be held. */
  piece(text: string): void;
  /** When given: whole lines of which none begins with "{", as every event does, all at once. */
  plain?(lines: string): void;
}

const createLineSplitter = (sink: LineSink) => {
  const decoder = new StringDecoder('utf8');
  let held = '';
  /** The longest line that is held. Known from its first character: looking at it later would copy all that is held. */
  let longest = longestLine;
  let overlong = false;
  let first = true;

  const take = (text: string): void => {
    for (let at = 0; at < text.length;) at = takePlain(text, at) ?? takeLine(text, at);
  };

  /** The place behind the plain lines that begin here; null when there are none. */
  const takePlain = (text: string, start: number): number | null => {
    if (!sink.plain || held !== '' || overlong || text[start] === '{') return null;
    if (!text.includes('\n', start)) return null;
    // There are fewer braces than lines: most often one look is enough.
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
    if (held === '') longest = sink.plain && text[start] !== '{' ? longestPlainLine : longestLine;
    held += text.slice(start);
    if (!overlong && held.length <= longest) return text.length;
    sink.piece(held);
    held = '';
    overlong = true;
    return text.length;
  };

  return {
    write: (chunk: Uint8Array) => {
      const text = decoder.write(asBuffer(chunk));
      // A mark of the byte order is not a part of the first line.
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
