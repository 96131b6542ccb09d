/** A part of a text, from offset `start` up to but not including `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Searches for many strings in one pass that skips most of the text. */
export interface Literals {
  readonly isEmpty: boolean;
  occurIn(text: string): boolean;
  /** Returns all matches, including overlapping ones. */
  spansIn(text: string): Span[];
  /**
   * Returns true if a part of a literal may end or start at a line end. May return true without reason, but never false
   * if a literal is wrapped.
   */
  mayBeWrappedIn(text: string): boolean;
  /** Returns how many characters at the end of a text are the start of a literal; 0 if fewer than `minPart`. */
  begunAtEndOf(text: string): number;
}

/** Shorter literals are not searched for. */
export const minLiteralLength = 8;

/** At least this many characters of a wrapped literal are on one of the two lines. */
const minPart = 4;

/**
 * Implements the algorithm of Wu and Manber: the pair of characters at the end of a window determines how far the
 * window can move. `given` must not contain literals shorter than `minLiteralLength`.
 */
export const createLiterals = (given: readonly string[]): Literals => {
  const literals = [...new Set(given)].toSorted((a, b) => b.length - a.length);
  if (literals.length === 0) return noLiterals;
  const width = literals.at(-1)!.length;
  const { shifts, ending } = tablesOf(literals, width);
  const parts = createParts(literals);

  /** Returns the next match from an offset on; null if there is none. */
  const next = (text: string, from: number): Span | null => {
    let at = from + width - 1;
    while (at < text.length) {
      const pair = pairOf(text.charCodeAt(at - 1), text.charCodeAt(at));
      const shift = shifts[pair]!;
      if (shift === 0) {
        const start = at - width + 1;
        const found = ending.get(pair)!.find((literal) => text.startsWith(literal, start));
        if (found !== undefined) return { start, end: start + found.length };
      }
      at += Math.max(shift, 1);
    }
    return null;
  };

  return {
    isEmpty: false,
    occurIn: (text) => next(text, 0) !== null,
    spansIn(text) {
      const spans: Span[] = [];
      for (let span = next(text, 0); span !== null; span = next(text, span.start + 1)) spans.push(span);
      return spans;
    },
    mayBeWrappedIn: (text) => lineEnds.some((lineEnd) => isWrappedAt(text, lineEnd, parts)),
    begunAtEndOf(text) {
      const last = text.slice(-minPart);
      if (last.length < minPart || !parts.has(text, text.length - minPart)) return 0;
      let longest = 0;
      for (const literal of literals)
        for (let at = literal.indexOf(last); at !== -1; at = literal.indexOf(last, at + 1)) {
          const length = at + minPart;
          if (length > longest && length < literal.length && text.endsWith(literal.slice(0, length))) longest = length;
        }
      return longest;
    },
  };
};

const noLiterals: Literals = {
  isEmpty: true,
  occurIn: () => false,
  spansIn: () => [],
  mayBeWrappedIn: () => false,
  begunAtEndOf: () => 0,
};

/** Combines two characters to a number below 65,536. Only the low byte of each counts. */
const pairOf = (first: number, second: number): number => ((first & 0xff) << 8) | (second & 0xff);

const tablesOf = (literals: readonly string[], width: number) => {
  const shifts = new Uint8Array(0x1_00_00).fill(Math.min(width - 1, 0xff));
  /** Literals by the pair at the end of the window, longest first. */
  const ending = new Map<number, string[]>();
  for (const literal of literals)
    for (let at = 1; at < width; at++) {
      const pair = pairOf(literal.charCodeAt(at - 1), literal.charCodeAt(at));
      shifts[pair] = Math.min(shifts[pair]!, width - 1 - at);
      if (at === width - 1) ending.set(pair, [...(ending.get(pair) ?? []), literal]);
    }
  return { shifts, ending };
};

interface Parts {
  /** Returns true if the `minPart` characters at this position occur in a literal. */
  has(text: string, at: number): boolean;
}

const createParts = (literals: readonly string[]): Parts => {
  const all = new Set<string>();
  for (const literal of literals)
    for (let at = 0; at + minPart <= literal.length; at++) all.add(literal.slice(at, at + minPart));
  // Most lookups fail, and this table shows it without creating a string.
  const known = new Uint8Array(0x1_00_00);
  for (const part of all) known[hashAt(part, 0)] = 1;
  return { has: (text, at) => known[hashAt(text, at)] === 1 && all.has(text.slice(at, at + minPart)) };
};

const hashAt = (text: string, at: number): number =>
  (text.charCodeAt(at) +
    text.charCodeAt(at + 1) * 37 +
    text.charCodeAt(at + 2) * 1369 +
    text.charCodeAt(at + 3) * 8191) &
  0xff_ff;

/** Raw and in JSON. */
const lineEnds = ['\n', String.raw`\n`];

/** The maximum indentation of a continuation line. */
export const maxIndent = 40;

const isWrappedAt = (text: string, lineEnd: string, parts: Parts): boolean => {
  for (let at = text.indexOf(lineEnd); at !== -1; at = text.indexOf(lineEnd, at + lineEnd.length)) {
    const before = at - carriageReturnBefore(text, at);
    if (before >= minPart && parts.has(text, before - minPart)) return true;
    let after = at + lineEnd.length;
    const deepest = after + maxIndent;
    while (after < deepest && isBlank(text.charCodeAt(after))) after++;
    if (after + minPart <= text.length && parts.has(text, after)) return true;
  }
  return false;
};

/** Returns the length of a carriage return before a line end, raw or in JSON. */
const carriageReturnBefore = (text: string, at: number): number => {
  const last = text.charCodeAt(at - 1);
  if (last === 13) return 1;
  return last === letterR && text.charCodeAt(at - 2) === backslash ? 2 : 0;
};

const letterR = 114;
const backslash = 92;
const isBlank = (code: number) => code === 32 || code === 9;
