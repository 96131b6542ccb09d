import type { AgentEvent } from '../ralph/events.ts';
import type { Decoder } from './harness.ts';

/** No event of an agent is longer; what is longer is plain text and is passed on in pieces. */
const longestLine = 16 * 1024 * 1024;

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
      decoder.stderr?.(line);
      see({ type: 'stderr', text: line });
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
        see({ type: 'stderr', text: `${notUnderstood} lines of its output were not understood; is Spool up to date?` });
      seeAll(decoder.end());
    },
  };
};

interface LineSink {
  /** A whole line without its "\n". */
  line(line: string): void;
  /** A part of a line that is too long to be held. */
  piece(text: string): void;
}

const createLineSplitter = (sink: LineSink) => {
  const decoder = new TextDecoder();
  let held = '';
  let overlong = false;

  const take = (text: string): void => {
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const line = held + text.slice(start, end);
      if (overlong) sink.piece(`${line}\n`);
      else sink.line(line);
      held = '';
      overlong = false;
      start = end + 1;
    }
    held += text.slice(start);
    if (held.length <= longestLine && !overlong) return;
    sink.piece(held);
    held = '';
    overlong = true;
  };

  return {
    write: (chunk: Uint8Array) => take(decoder.decode(chunk, { stream: true })),
    end: () => {
      take(decoder.decode());
      if (held !== '') sink.line(held);
      held = '';
    },
  };
};
