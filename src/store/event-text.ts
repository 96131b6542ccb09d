import { StringDecoder } from 'node:string_decoder';
import type { AgentEvent } from '../ralph/agent-events.ts';
import type { Redactor } from '../secrets/redact.ts';

/** The maximum length of a text in the journal, in characters. */
const maxText = 16 * 1024;

/** Output of an agent without structure, or on stderr. It arrives in pieces, and a secret may be split between two. */
export type OutputEvent = Extract<AgentEvent, { readonly type: 'text' | 'stderr' }>;

export const isOutput = (event: AgentEvent): event is OutputEvent =>
  event.type === 'stderr' || (event.type === 'text' && event.plain);

/** The event without secrets and with its texts cut to `maxText`. */
export const withBoundedTexts = <Event extends AgentEvent>(event: Event, redactor: Redactor): Event => {
  const fields = Object.entries(event).map(([name, value]) => [name, boundedText(value, redactor)]);
  return Object.fromEntries(fields) as Event;
};

const boundedText = (value: unknown, redactor: Redactor): unknown =>
  typeof value === 'string' && value.length > maxText
    ? `${redactor.beginningOf(value, maxText)} ${wholeLength(value)}`
    : redactor.data(value);

const wholeLength = ({ length }: string): string => `(${length} characters; the log has all of them)`;

/** Shortens a line that contains no secrets. */
const shortLine = (line: string): string =>
  line.length <= maxText ? line : `${line.slice(0, maxText)}… ${wholeLength(line)}`;

/** Joins and redacts pieces of output, and returns them as few events. */
interface OutputText {
  add(event: OutputEvent): void;
  /** Returns what was added and can be written: the end of an open line may be the beginning of a secret. */
  take(): readonly OutputEvent[];
  /** Ends the open line, so that the next `take` returns all of it. */
  end(): void;
  /** Drops what `take` has not returned yet. */
  reset(): void;
  /** The number of characters that `take` would return. */
  size(): number;
}

export const createOutputText = (redactor: Redactor): OutputText => {
  const open = () => ({ text: createTextRedactor(redactor), stderr: createTextRedactor(redactor) });
  let streams = open();
  let ready: OutputEvent[] = [];
  let size = 0;

  const addText = (text: string) => {
    const last = ready.at(-1);
    if (last?.type === 'text' && last.text.length < maxText)
      ready[ready.length - 1] = { ...last, text: last.text + text };
    else ready.push({ type: 'text', text, plain: true });
  };
  const put = (type: OutputEvent['type'], text: string) => {
    if (text === '') return;
    size += text.length;
    if (type === 'text') return addText(text);
    for (const line of text.replace(/\n$/, '').split('\n')) ready.push({ type, text: shortLine(line) });
  };

  return {
    add: ({ type, text }) => put(type, streams[type].pass(type === 'stderr' ? `${text}\n` : text)),
    take: () => {
      const events = ready;
      [ready, size] = [[], 0];
      return events;
    },
    end: () => {
      for (const type of ['text', 'stderr'] as const) put(type, streams[type].end());
      streams = open();
    },
    reset: () => {
      [ready, size] = [[], 0];
      streams = open();
    },
    size: () => size,
  };
};

const createTextRedactor = (redactor: Redactor) => {
  const bytes = redactor.stream();
  const decoder = new StringDecoder('utf8');
  return {
    pass: (text: string): string => decoder.write(bytes.pass(Buffer.from(text))),
    end: (): string => decoder.write(bytes.end()) + decoder.end(),
  };
};
