import { createLiterals, maxIndent, type Literals, minLiteralLength, type Span } from './literals.ts';
import { hasShape, shapeSpansIn } from './shapes.ts';
import { withoutControls } from '../text/controls.ts';
import { secretLiterals } from './values.ts';

/** Removes secrets from everything that is written to disk or shown. The promise is searched in the original output. */
export interface Redactor {
  text(text: string): string;
  /**
   * Redacts a text and shortens it to its first `maxLength` characters. A text from outside is shortened only like
   * this: if it were cut before it is redacted, the part of a secret before the cut would not be recognised.
   */
  beginningOf(text: string, maxLength: number): string;
  /** Redacts a text and shortens it to its last `maxLength` characters. */
  endOf(text: string, maxLength: number): string;
  /**
   * Redacts the part of a text from `start` to `end`. A secret that begins before the part, or ends after it, is found if
   * the text has all of it.
   */
  part(text: string, start: number, end: number): string;
  /** Redacts consecutive lines. A secret may span several; the number of lines does not change. */
  lines(lines: readonly string[]): readonly string[];
  /** Redacts a text, joins its lines and shortens it. */
  oneLine(text: string, maxLength?: number): string;
  /** Redacts every string in plain data. Returns a copy, or the same object if nothing changed. */
  data<Data>(data: Data): Data;
  /** Redacts after applying `transform`, since removing characters can join the parts of a secret. */
  after(transform: (text: string) => string): Pick<Redactor, 'data'>;
  /** Redacts a stream of bytes in chunks of any size. */
  stream(): ByteRedactor;
}

interface ByteRedactor {
  /** Returns what can be written so far, without the end of an incomplete line. Valid until the next call. */
  pass(chunk: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

/** Replaces a secret. */
export const mask = '[redacted]';

export const createRedactor = (env: NodeJS.ProcessEnv): Redactor => {
  const literals = secretLiterals(env);
  const inTexts = createLiterals(literals);
  const inBytes = createLiterals(literals.map((literal) => Buffer.from(literal).toString('latin1')));
  const clean = (text: string) => (text.length < minLiteralLength ? text : masked(text, secretsIn(text, inTexts)));
  const mapTexts = createMapper(clean);
  return {
    text: clean,
    beginningOf(text, maxLength) {
      if (text.length <= maxLength) return clean(text);
      const words = text.slice(0, maxLength + maxRedactedLength);
      const secrets = secretsIn(words, inTexts).filter(({ start }) => start < maxLength);
      const end = Math.max(maxLength, secrets.at(-1)?.end ?? 0);
      return `${masked(words.slice(0, end), secrets).slice(0, maxLength)}…`;
    },
    endOf(text, maxLength) {
      if (text.length <= maxLength) return clean(text);
      const words = text.slice(-maxLength - maxRedactedLength);
      const cut = words.length - maxLength;
      const secrets = secretsIn(words, inTexts).filter(({ end }) => end > cut);
      const start = Math.min(cut, secrets[0]?.start ?? cut);
      const shifted = secrets.map((each) => ({ ...each, start: each.start - start, end: each.end - start }));
      return `…${lastOf(masked(words.slice(start), shifted), maxLength)}`;
    },
    part: (text, start, end) => maskedPart(text, secretsIn(text, inTexts), { start, end }),
    lines(lines) {
      const text = lines.join('\n');
      const secrets = secretsIn(text, inTexts);
      if (secrets.length === 0) return lines;
      let [end, from] = [-1, 0];
      return lines.map((line) => {
        const start = end + 1;
        end = start + line.length;
        while (from < secrets.length && secrets[from]!.end <= start) from++;
        let to = from;
        while (to < secrets.length && secrets[to]!.start < end) to++;
        return maskedPart(text, secrets.slice(from, to), { start, end });
      });
    },
    oneLine(text, maxLength = 500) {
      const line = clean(withoutControls(text)).replaceAll(/\s+/g, ' ');
      return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
    },
    data: (data) => mapTexts(data) as typeof data,
    after: (transform) => {
      const mapAfter = createMapper((text) => clean(transform(text)));
      return { data: (data) => mapAfter(data) as typeof data };
    },
    stream: () => createByteRedactor(inBytes),
  };
};

/** Copies only objects that contain a changed text, which is rare: this is called for every event. */
const createMapper = (change: (text: string) => string) => {
  const map = (data: unknown): unknown => {
    if (typeof data === 'string') return change(data);
    if (typeof data !== 'object' || data === null) return data;
    return mapEach(data as Record<string, unknown>);
  };
  const mapEach = (data: Record<string, unknown>): unknown => {
    let copy: Record<string, unknown> | null = null;
    for (const key of Object.keys(data)) {
      const [next, name] = [map(data[key]), change(key)];
      if (next === data[key] && name === key) continue;
      copy ??= (Array.isArray(data) ? [...data] : { ...data }) as Record<string, unknown>;
      if (name !== key) delete copy[key];
      copy[name] = next;
    }
    return copy ?? data;
  };
  return map;
};

/** Redacts successive versions of an object. Fields that are unchanged since the last version are not scanned again. */
export const createIncrementalRedactor = <Data extends object>({
  data: clean,
}: Pick<Redactor, 'data'>): ((data: Data) => Data) => {
  let [before, cleaned]: [Data | null, Data | null] = [null, null];
  return (data) => {
    const next = { ...data };
    for (const key of Object.keys(data) as (keyof Data)[])
      next[key] = before !== null && before[key] === data[key] ? cleaned![key] : clean(data[key]);
    [before, cleaned] = [data, next];
    return next;
  };
};

interface Secret extends Span {
  /** Color codes or line ends are inside of it. */
  readonly isSplit: boolean;
}

const none: readonly Secret[] = [];

/** Returns the positions of the secrets in a text, sorted and without overlaps. */
const secretsIn = (text: string, literals: Literals): readonly Secret[] => {
  const whole = literals.occurIn(text) || hasShape(text) ? wholeSecretsIn(text, literals) : none;
  const split = splitSecretsIn(text, literals);
  if (split.length === 0) return whole;
  return inOrder([...whole, ...outside(inOrder(split), whole)]);
};

/** Returns the `secrets` that are not inside one of `others`. Both are sorted. */
const outside = (secrets: readonly Secret[], others: readonly Secret[]): Secret[] => {
  let at = 0;
  return secrets.filter(({ start, end }) => {
    while (at + 1 < others.length && others[at + 1]!.start <= start) at++;
    const other = others[at];
    return other === undefined || other.start > start || other.end < end;
  });
};

const wholeSecretsIn = (text: string, literals: Literals): Secret[] =>
  inOrder([...literals.spansIn(text), ...shapeSpansIn(text)].map((span) => ({ ...span, isSplit: false })));

const inOrder = (secrets: readonly Secret[]): Secret[] => {
  if (secrets.length < 2) return [...secrets];
  const sorted = secrets.toSorted((a, b) => a.start - b.start || b.end - a.end);
  const found: Secret[] = [];
  for (const secret of sorted) {
    const last = found.at(-1);
    if (last === undefined || secret.start >= last.end) found.push(secret);
    else if (secret.end > last.end)
      found[found.length - 1] = { start: last.start, end: secret.end, isSplit: last.isSplit || secret.isSplit };
  }
  return found;
};

/** Escape sequences for colors, raw and in JSON. */
const color = String.raw`(?:\u001b|\\u001[bB])(?:\[[\d;:?]{0,32}[A-Za-z]|\(B)`;
const lineEnd = String.raw`(?:\r?\n|(?:\\r)?\\n)[ \t]{0,${maxIndent}}`;
const colors = new RegExp(color, 'g');
const colorsAndLineEnds = new RegExp(`${color}|${lineEnd}`, 'g');

/** The start of an escape character in JSON. */
const escapedEscape = String.raw`\u001`;

/**
 * Finds secrets that contain color codes or line ends. Shapes are searched without line ends, as their length is
 * unknown.
 */
const splitSecretsIn = (text: string, literals: Literals): readonly Secret[] => {
  const isColored = text.includes('\u001b') || text.includes(escapedEscape);
  if (!isColored && !literals.mayBeWrappedIn(text)) return none;
  const plain = isColored ? without(text, colors) : null;
  const words = plain?.text ?? text;
  const found =
    plain !== null && (literals.occurIn(words) || hasShape(words))
      ? plain.inOriginal([...literals.spansIn(words), ...shapeSpansIn(words)])
      : none;
  if (!literals.mayBeWrappedIn(words)) return found;
  const joined = without(text, colorsAndLineEnds);
  return [...found, ...joined.inOriginal(literals.spansIn(joined.text))];
};

interface Shortened {
  readonly text: string;
  inOriginal(spans: readonly Span[]): Secret[];
}

/** Removes all matches of a pattern. Positions in the result can be mapped back to the original. */
const without = (text: string, pattern: RegExp): Shortened => {
  /** Start of each remaining part, in the shortened text and in the original. */
  const [starts, origins] = [[0], [0]];
  const parts: string[] = [];
  let [length, from] = [0, 0];
  for (const { index, 0: found } of text.matchAll(pattern)) {
    parts.push(text.slice(from, index));
    length += index - from;
    from = index + found.length;
    starts.push(length);
    origins.push(from);
  }
  parts.push(text.slice(from));
  const originOf = (at: number): number => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (starts[middle]! <= at) low = middle;
      else high = middle - 1;
    }
    return origins[low]! + at - starts[low]!;
  };
  return {
    text: parts.join(''),
    inOriginal: (spans) =>
      spans.map(({ start, end }) => ({ start: originOf(start), end: originOf(end - 1) + 1, isSplit: true })),
  };
};

/** Preserves color codes and line ends inside a secret: a color may apply to the text after it. */
const masked = (text: string, secrets: readonly Secret[]): string => {
  if (secrets.length === 0) return text;
  const parts: string[] = [];
  let from = 0;
  for (const { start, end, isSplit } of secrets) {
    const between = isSplit ? (text.slice(start, end).match(colorsAndLineEnds) ?? []) : [];
    parts.push(text.slice(from, start), mask, ...between);
    from = end;
  }
  return parts.join('') + text.slice(from);
};

/** Masks what a part of a text has of the secrets in the text. */
const maskedPart = (text: string, secrets: readonly Secret[], { start, end }: Span): string => {
  const inside = secrets.filter((secret) => secret.start < end && secret.end > start);
  const shifted = inside.map((secret) => ({
    ...secret,
    start: Math.max(0, secret.start - start),
    end: Math.min(end, secret.end) - start,
  }));
  return masked(text.slice(start, end), shifted);
};

const lastOf = (text: string, length: number): string => text.slice(Math.max(0, text.length - length));

/** Does not apply to private keys. */
const maxSecretLength = 16 * 1024;
const maxKeyLength = 20_000;

/**
 * In characters. Code without a redactor that cannot keep a whole text keeps this much more of it than is shown.
 */
export const maxRedactedLength = maxKeyLength;

const createByteRedactor = (literals: Literals): ByteRedactor => {
  // Holds the bytes that were not written yet, then the next chunk. A new buffer per chunk would fill the memory.
  let buffer = Buffer.alloc(0);
  let [from, to] = [0, 0];

  const append = (chunk: Uint8Array): Buffer => {
    const length = to - from + chunk.length;
    const next = buffer.length < length ? Buffer.alloc(2 * length) : buffer;
    buffer.copy(next, 0, from, to);
    next.set(chunk, to - from);
    [buffer, from, to] = [next, 0, length];
    return buffer.subarray(0, length);
  };

  return {
    pass(chunk) {
      const bytes = append(chunk);
      const text = bytes.toString('latin1');
      const { clean, end } = cleaned({ bytes, text }, safeEnd(text, literals), literals);
      from = end;
      return clean;
    },
    end() {
      const bytes = buffer.subarray(from, to);
      from = to;
      return cleaned({ bytes, text: bytes.toString('latin1') }, bytes.length, literals).clean;
    },
  };
};

interface Words {
  readonly bytes: Buffer;
  /** A character for each byte. */
  readonly text: string;
}

/** Returns the text before `end` without secrets; less if a secret extends beyond `end`. */
const cleaned = ({ bytes, text }: Words, end: number, literals: Literals): { clean: Buffer; end: number } => {
  const secrets = secretsIn(text, literals);
  if (secrets.length === 0) return { clean: bytes.subarray(0, end), end };
  const across = secrets.find((secret) => secret.start < end && secret.end > end);
  const isHeld = across !== undefined && bytes.length - across.start < maxKeyLength;
  const last = isHeld ? across.start : end;
  const complete = text.slice(0, last);
  const inside =
    across === undefined || isHeld ? secrets.filter((each) => each.end <= last) : secretsIn(complete, literals);
  return { clean: Buffer.from(masked(complete, inside), 'latin1'), end: last };
};

/**
 * Returns the position before which no secret can continue in the next chunk: a line end, or far enough from the end.
 */
const safeEnd = (text: string, literals: Literals): number => {
  // `lastIndexOf` is slow if there is none.
  const lineEnd = text.includes('\n') ? text.lastIndexOf('\n') + 1 : 0;
  const end = Math.max(beforeWrapped(text, lineEnd, literals), text.length - maxSecretLength);
  const key = text.includes('-----BEGIN ') ? text.lastIndexOf('-----BEGIN ', end) : -1;
  if (key === -1 || text.length - key >= maxKeyLength) return end;
  const closed = /-----END [A-Z ]*-----/.test(text.slice(key));
  return closed ? end : Math.min(key, end);
};

/** Moves `lineEnd` before a possible start of a secret that continues on the next line. */
const beforeWrapped = (text: string, lineEnd: number, literals: Literals): number => {
  if (lineEnd === 0 || literals.isEmpty) return lineEnd;
  const from = Math.max(0, lineEnd - maxSecretLength);
  const last = text.slice(Math.max(from, lineEnd - 64), lineEnd);
  if (literals.begunAtEndOf(last.replaceAll(colorsAndLineEnds, '')) === 0) return lineEnd;
  const joined = without(text.slice(from, lineEnd), colorsAndLineEnds);
  const begun = literals.begunAtEndOf(joined.text);
  const [secret] = joined.inOriginal([{ start: joined.text.length - begun, end: joined.text.length }]);
  return from + secret!.start;
};
