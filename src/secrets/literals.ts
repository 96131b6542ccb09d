/** A part of a text, by offsets: from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Looks for many texts at once, in one pass that skips most of what it looks at. */
export interface Literals {
  readonly isEmpty: boolean;
  occurIn(text: string): boolean;
  /** All of them, also where they overlap. */
  spansIn(text: string): Span[];
  /** Whether a part of one of them ends, or begins, where a line ends. Says yes too often, never no where one is wrapped. */
  mayBeWrappedIn(text: string): boolean;
  /** How many characters at the end of a text are the beginning of one of them; 0 when they are fewer than `leastPart`. */
  begunAtEndOf(text: string): number;
}

/** A shorter literal is not looked for. */
export const shortestLiteral = 8;

/** Of a literal that is wrapped, at least so many characters are on one of the two lines. */
const leastPart = 4;

/**
 * After Wu and Manber: the pair of characters at the end of a window tells how far the window can be moved on. `literals`
 * are no shorter than `shortestLiteral`.
 */
export const createLiterals = (given: readonly string[]): Literals => {
  const literals = [...new Set(given)].toSorted((a, b) => b.length - a.length);
  if (literals.length === 0) return noLiterals;
  const width = literals.at(-1)!.length;
  const { shifts, ending } = tablesOf(literals, width);
  const parts = createParts(literals);

  /** Where the next one is, from an offset on; null when there is none. */
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
      const last = text.slice(-leastPart);
      if (last.length < leastPart || !parts.has(text, text.length - leastPart)) return 0;
      let longest = 0;
      for (const literal of literals)
        for (let at = literal.indexOf(last); at !== -1; at = literal.indexOf(last, at + 1)) {
          const length = at + leastPart;
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

/** Two characters as a number below 65,536; of wide ones only a part counts. */
const pairOf = (first: number, second: number): number => ((first & 0xff) << 8) | (second & 0xff);

const tablesOf = (literals: readonly string[], width: number) => {
  const shifts = new Uint8Array(0x1_00_00).fill(Math.min(width - 1, 0xff));
  /** By the pair at the end of the window, the longest first. */
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
  /** Whether what begins there, `leastPart` long, is in one of the literals. */
  has(text: string, at: number): boolean;
}

const createParts = (literals: readonly string[]): Parts => {
  const all = new Set<string>();
  for (const literal of literals)
    for (let at = 0; at + leastPart <= literal.length; at++) all.add(literal.slice(at, at + leastPart));
  // Most of what is asked for is none of them, and this tells without making a text of it.
  const known = new Uint8Array(0x1_00_00);
  for (const part of all) known[hashAt(part, 0)] = 1;
  return { has: (text, at) => known[hashAt(text, at)] === 1 && all.has(text.slice(at, at + leastPart)) };
};

const hashAt = (text: string, at: number): number =>
  (text.charCodeAt(at) +
    text.charCodeAt(at + 1) * 37 +
    text.charCodeAt(at + 2) * 1369 +
    text.charCodeAt(at + 3) * 8191) &
  0xff_ff;

/** As it is, and in JSON. */
const lineEnds = ['\n', String.raw`\n`];

/** How far a line that goes on may be indented. */
export const deepestIndent = 40;

const isWrappedAt = (text: string, lineEnd: string, parts: Parts): boolean => {
  for (let at = text.indexOf(lineEnd); at !== -1; at = text.indexOf(lineEnd, at + lineEnd.length)) {
    const before = at - carriageReturnBefore(text, at);
    if (before >= leastPart && parts.has(text, before - leastPart)) return true;
    let after = at + lineEnd.length;
    const deepest = after + deepestIndent;
    while (after < deepest && isBlank(text.charCodeAt(after))) after++;
    if (after + leastPart <= text.length && parts.has(text, after)) return true;
  }
  return false;
};

/** The length of a carriage return before the end of a line: as it is, and in JSON. */
const carriageReturnBefore = (text: string, at: number): number => {
  const last = text.charCodeAt(at - 1);
  if (last === 13) return 1;
  return last === letterR && text.charCodeAt(at - 2) === backslash ? 2 : 0;
};

const letterR = 114;
const backslash = 92;
const isBlank = (code: number) => code === 32 || code === 9;
