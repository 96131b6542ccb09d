import type { DecodedEvent } from './decoded-event.ts';
import type { Decoder } from './harness.ts';
import { createLineSplitter } from './lines.ts';

/**
 * Turns the bytes of a process into events. Characters split between chunks are joined, lines end only at "\n", and the
 * plain lines of one chunk become one event.
 */
export const createEventStream = (decoder: Decoder, onEvent: (event: DecodedEvent) => void) => {
  const onEvents = (events: readonly DecodedEvent[]) => events.forEach(onEvent);
  let plain = '';
  let understood = false;
  let notUnderstood = 0;
  const flushPlain = () => {
    if (plain !== '') onEvent({ type: 'text', text: plain, plain: true });
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
      flushPlain();
      onEvents(events);
    },
    piece: (text) => {
      plain += text;
    },
  });
  const stderr = createLineSplitter({
    line: (line) => {
      onEvent({ type: 'stderr', text: line });
      onEvents(decoder.stderr?.(line) ?? []);
    },
    piece: (text) => onEvent({ type: 'stderr', text }),
  });
  return {
    write: (source: 'stdout' | 'stderr', chunk: Uint8Array) => {
      (source === 'stdout' ? stdout : stderr).write(chunk);
      flushPlain();
    },
    end: () => {
      stdout.end();
      flushPlain();
      stderr.end();
      if (understood && notUnderstood > 0)
        onEvent({
          type: 'stderr',
          text: `${notUnderstood} ${notUnderstood === 1 ? 'line' : 'lines'} of its output could not be decoded. Is Spool up to date?`,
        });
      onEvents(decoder.end());
    },
  };
};
