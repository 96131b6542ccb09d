/** What an iteration left for the next ones, without its patterns. */
export interface HandoverNote {
  readonly run: string;
  readonly iteration: number;
  readonly text: string;
}

/** What a record has of the notes of its iteration. */
interface Handover {
  readonly run: string;
  readonly iteration: number;
  readonly handover?: string | null;
}

/** What the next prompt tells about earlier iterations. All lists have the oldest first. */
export interface HandoverNotes {
  readonly notes: readonly HandoverNote[];
  /** What holds for the whole project, each once. */
  readonly patterns: readonly string[];
}

export const noNotes: HandoverNotes = { notes: [], patterns: [] };

/** In bytes of UTF-8, as quoted in a prompt. */
export const maxNotesBytes = 8 * 1024;
const maxPatternsBytes = 2 * 1024;
const maxPatternBytes = 500;

/**
 * Adds the notes of an iteration, and drops the oldest ones if there are too many. Notes or a pattern that are repeated
 * become the newest ones. Only if the newest notes alone are too long, their end is cut off.
 */
export const addNotes = (before: HandoverNotes, { run, iteration, handover }: Handover): HandoverNotes => {
  if (!handover) return before;
  const { text, patterns: added } = splitPatterns(handover);
  const others = before.notes.filter(
    (note) => (note.run !== run || note.iteration !== iteration) && note.text !== text,
  );
  const patterns = limitPatterns(unique([...before.patterns, ...added]));
  const notes = text === '' ? others : [...others, { run, iteration, text }];
  return { notes: limitNotes(notes, maxNotesBytes - patternsSize(patterns)), patterns };
};

/** Quotes the notes, so that nothing in them can be taken for a part of the prompt; null if there are none. */
export const quoteNotes = ({ notes, patterns }: HandoverNotes, run: string): string | null => {
  const parts = [
    ...(patterns.length === 0 ? [] : [patternsTitle, quote(patterns.map((each) => `- ${each}`).join('\n'))]),
    ...notes.flatMap((note) => [titleOf(note, run), quote(note.text)]),
  ];
  return parts.length === 0 ? null : parts.join('\n\n');
};

const patternsTitle = 'Patterns:';

const titleOf = ({ run, iteration }: HandoverNote, current: string): string =>
  `Iteration ${iteration}${run === current ? '' : ' of an earlier run'}:`;

const quote = (text: string): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? '>' : `> ${line}`))
    .join('\n');

/** As in `quoteNotes`, with the blank line before it. The longest title counts, since a note outlives its run. */
const sizeOf = (note: HandoverNote): number => bytesOf(`\n\n${titleOf(note, '')}\n\n${quote(note.text)}`);

const patternsSize = (patterns: readonly string[]): number =>
  patterns.length === 0 ? 0 : bytesOf(`${patternsTitle}\n\n${quote(patterns.map((each) => `- ${each}`).join('\n'))}`);

const limitNotes = (notes: readonly HandoverNote[], maxBytes: number): readonly HandoverNote[] => {
  const newest = notes.at(-1);
  if (newest === undefined) return notes;
  const first = firstFitting(notes.map(sizeOf), maxBytes);
  return first < notes.length ? notes.slice(first) : [shortened(newest, maxBytes)];
};

const limitPatterns = (patterns: readonly string[]): readonly string[] => {
  const short = patterns.map((each) => (bytesOf(each) <= maxPatternBytes ? each : cut(each, maxPatternBytes)));
  const sizes = short.map((each) => bytesOf(`> - ${each}\n`));
  return short.slice(firstFitting(sizes, maxPatternsBytes));
};

/** Returns the index from which all sizes fit. */
const firstFitting = (sizes: readonly number[], maxBytes: number): number => {
  let used = 0;
  for (let index = sizes.length - 1; index >= 0; index--) {
    used += sizes[index]!;
    if (used > maxBytes) return index + 1;
  }
  return 0;
};

/** Cuts the text to as many bytes as it may have with its title and quote marks. */
const shortened = (note: HandoverNote, maxBytes: number): HandoverNote => {
  let limit = maxBytes;
  for (;;) {
    const short = { ...note, text: cut(note.text, limit) };
    const excess = sizeOf(short) - maxBytes;
    if (excess <= 0) return short;
    // Shorter lines have more quote marks, so the excess of a shorter text cannot be calculated.
    limit -= Math.ceil(excess / 4);
  }
};

/** Cuts between two lines, unless that loses too much, or else between two characters. */
const cut = (text: string, maxBytes: number): string => {
  const room = new Uint8Array(Math.max(0, maxBytes - bytesOf('…')));
  let end = encoder.encodeInto(text, room).read;
  for (let back = 0; end > 0 && back < maxJoined && isInside(text, end); back++)
    end -= text.codePointAt(end - 2)! > 0xffff ? 2 : 1;
  const start = text.slice(0, end);
  const newline = start.lastIndexOf('\n');
  return `${(newline > start.length / 2 ? start.slice(0, newline) : start).trimEnd()}…`;
};

/** Longer sequences are not written by people. */
const maxJoined = 20;

/** Whether the text continues a character: with an accent, a skin tone, or another part of an emoji. */
const isInside = (text: string, index: number): boolean =>
  text[index - 1] === '\u200d' || /^[\p{M}\p{Emoji_Modifier}\u200d]/u.test(text.slice(index, index + 2));

const encoder = new TextEncoder();
const bytesOf = (text: string): number => encoder.encode(text).length;

interface Sections {
  readonly text: string;
  readonly patterns: readonly string[];
}

/** Takes the section with the title "Patterns" out of the notes. */
const splitPatterns = (handover: string): Sections => {
  const lines = handover.split('\n');
  const title = lines.findIndex((line) => patternsLine.test(line));
  if (title === -1) return { text: handover, patterns: [] };
  const length = lines.slice(title + 1).findIndex((line) => otherTitle.test(line));
  const end = length === -1 ? lines.length : title + 1 + length;
  const first = patternsLine.exec(lines[title]!)?.[1] ?? '';
  return {
    text: [...lines.slice(0, title), ...lines.slice(end)].join('\n').trim(),
    patterns: itemsIn([first, ...lines.slice(title + 1, end)]),
  };
};

/** `Patterns:`, `## Patterns`, `**Patterns**: use pnpm` */
const patternsLine = /^[\s#*_>-]*patterns?(?:[\s*_]*[:：][\s*_]*(.*)|[\s*_]*$)/i;
const otherTitle = /^[\s#*_>-]*(?:done|next|open|tried|failed|what|notes?)\b[^:：]{0,60}[:：]|^\s*#{1,6}\s/i;

/** An indented line without a mark continues the item above it. */
const itemsIn = (lines: readonly string[]): string[] => {
  const items: string[] = [];
  for (const line of lines) {
    const text = line.replace(/^[\s>]*(?:[-*+•]|\d+[.)])\s+/, '').trim();
    if (text === '') continue;
    if (items.length > 0 && text === line.trim() && /^\s/.test(line)) items.push(`${items.pop()!} ${text}`);
    else items.push(text);
  }
  return items;
};

/** The last of equal patterns counts. Case and punctuation do not matter. */
const unique = (patterns: readonly string[]): string[] => {
  const byKey = new Map<string, string>();
  for (const pattern of patterns) {
    const key =
      pattern
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
        .trim() || pattern;
    byKey.delete(key);
    byKey.set(key, pattern);
  }
  return [...byKey.values()];
};
