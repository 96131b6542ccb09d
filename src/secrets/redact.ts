import { createLiterals, deepestIndent, type Literals, shortestLiteral, type Span } from './literals.ts';
import { holdsShape, shapeSpansIn } from './shapes.ts';
import { secretLiterals } from './values.ts';

/** Takes secrets out of what is written down. What is searched for the promise is not touched. */
export interface Redactor {
  text(text: string): string;
  /** Plain data with every text in it cleaned: a copy, unless it is clean already. */
  data<Data>(data: Data): Data;
  /** The same for a text without what is taken out of it on its way: taking it out can put a secret together. */
  after(takeOut: (text: string) => string): Pick<Redactor, 'data'>;
  /** For one stream of bytes, in chunks of any size. */
  stream(): ByteRedactor;
}

interface ByteRedactor {
  /** What may be written of all that was given so far; the end of an open line is held back. It is good until the next call. */
  pass(chunk: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

/** What stands in the place of a secret. */
export const mask = '[redacted]';

export const createRedactor = (env: NodeJS.ProcessEnv): Redactor => {
  const literals = secretLiterals(env);
  const inTexts = createLiterals(literals);
  const inBytes = createLiterals(literals.map((literal) => Buffer.from(literal).toString('latin1')));
  const clean = (text: string) => (text.length < shortestLiteral ? text : masked(text, secretsIn(text, inTexts)));
  const mapTexts = createMapper(clean);
  return {
    text: clean,
    data: (data) => mapTexts(data) as typeof data,
    after: (takeOut) => {
      const mapAfter = createMapper((text) => clean(takeOut(text)));
      return { data: (data) => mapAfter(data) as typeof data };
    },
    stream: () => createByteRedactor(inBytes),
  };
};

/** Copies only what has a text in it that is changed: hardly anything has, and this is called with every event. */
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

/** The same for one object after the other, in which hardly anything is new: what is as it was is not looked at again. */
export const createRemembering = <Data extends object>({
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
  /** Colours or line ends are in between. */
  readonly isSplit: boolean;
}

const none: readonly Secret[] = [];

/** Where the secrets of a text are, in order; none overlaps another. Most texts have none. */
const secretsIn = (text: string, literals: Literals): readonly Secret[] => {
  const whole = literals.occurIn(text) || holdsShape(text) ? wholeSecretsIn(text, literals) : none;
  const split = splitSecretsIn(text, literals);
  if (split.length === 0) return whole;
  return inOrder([...whole, ...outside(inOrder(split), whole)]);
};

/** Those of the first that none of the second holds; both are in order. */
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

/** What a terminal takes for a change of colours and the like, as it is and in JSON. */
const colour = String.raw`(?:\u001b|\\u001[bB])(?:\[[\d;:?]{0,32}[A-Za-z]|\(B)`;
const lineEnd = String.raw`(?:\r?\n|(?:\\r)?\\n)[ \t]{0,${deepestIndent}}`;
const colours = new RegExp(colour, 'g');
const coloursAndLineEnds = new RegExp(`${colour}|${lineEnd}`, 'g');

/** How the JSON of an escape character begins. */
const escapedEscape = String.raw`\u001`;

/** Those in the middle of which colours change, or a line ends. Of shapes, only the former: what they end with is not known. */
const splitSecretsIn = (text: string, literals: Literals): readonly Secret[] => {
  const isColoured = text.includes('\u001b') || text.includes(escapedEscape);
  if (!isColoured && !literals.mayBeWrappedIn(text)) return none;
  const plain = isColoured ? without(text, colours) : null;
  const words = plain?.text ?? text;
  const found =
    plain !== null && (literals.occurIn(words) || holdsShape(words))
      ? plain.inOriginal([...literals.spansIn(words), ...shapeSpansIn(words)])
      : none;
  if (!literals.mayBeWrappedIn(words)) return found;
  const joined = without(text, coloursAndLineEnds);
  return [...found, ...joined.inOriginal(literals.spansIn(joined.text))];
};

interface Shortened {
  readonly text: string;
  inOriginal(spans: readonly Span[]): Secret[];
}

/** A text less all that a pattern finds, from which one finds back. */
const without = (text: string, pattern: RegExp): Shortened => {
  /** Where each part that is left begins: in the shortened text, and in the original. */
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

/** What splits a secret stays: a colour may be meant for what follows. */
const masked = (text: string, secrets: readonly Secret[]): string => {
  if (secrets.length === 0) return text;
  const parts: string[] = [];
  let from = 0;
  for (const { start, end, isSplit } of secrets) {
    const between = isSplit ? (text.slice(start, end).match(coloursAndLineEnds) ?? []) : [];
    parts.push(text.slice(from, start), mask, ...between);
    from = end;
  }
  return parts.join('') + text.slice(from);
};

/** No secret that is looked for is longer, but for private keys. */
const longestSecret = 16 * 1024;
const longestKey = 20_000;

const createByteRedactor = (literals: Literals): ByteRedactor => {
  // What is held back, with the next chunk behind it. A new buffer for each chunk would fill the memory.
  let room = Buffer.alloc(0);
  let [from, to] = [0, 0];

  const append = (chunk: Uint8Array): Buffer => {
    const length = to - from + chunk.length;
    const next = room.length < length ? Buffer.alloc(2 * length) : room;
    room.copy(next, 0, from, to);
    next.set(chunk, to - from);
    [room, from, to] = [next, 0, length];
    return room.subarray(0, length);
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
      const bytes = room.subarray(from, to);
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

/** What comes before `end`, without secrets; less of it when a secret lies across the end. */
const cleaned = ({ bytes, text }: Words, end: number, literals: Literals): { clean: Buffer; end: number } => {
  const secrets = secretsIn(text, literals);
  if (secrets.length === 0) return { clean: bytes.subarray(0, end), end };
  const across = secrets.find((secret) => secret.start < end && secret.end > end);
  const isHeld = across !== undefined && bytes.length - across.start < longestKey;
  const last = isHeld ? across.start : end;
  const kept = text.slice(0, last);
  const inside =
    across === undefined || isHeld ? secrets.filter((each) => each.end <= last) : secretsIn(kept, literals);
  return { clean: Buffer.from(masked(kept, inside), 'latin1'), end: last };
};

/** Up to where no secret can go on in the next chunk: the end of a line, or far enough before the end of a long one. */
const safeEnd = (text: string, literals: Literals): number => {
  // Looking for the last one takes long where there is none.
  const lineEnd = text.includes('\n') ? text.lastIndexOf('\n') + 1 : 0;
  const end = Math.max(beforeWrapped(text, lineEnd, literals), text.length - longestSecret);
  const key = text.includes('-----BEGIN ') ? text.lastIndexOf('-----BEGIN ', end) : -1;
  if (key === -1 || text.length - key >= longestKey) return end;
  const closed = /-----END [A-Z ]*-----/.test(text.slice(key));
  return closed ? end : Math.min(key, end);
};

/** Before what a line ends with, where that may be the beginning of a secret that goes on in the next line. */
const beforeWrapped = (text: string, lineEnd: number, literals: Literals): number => {
  if (lineEnd === 0 || literals.isEmpty) return lineEnd;
  const from = Math.max(0, lineEnd - longestSecret);
  const last = text.slice(Math.max(from, lineEnd - 64), lineEnd);
  if (literals.begunAtEndOf(last.replaceAll(coloursAndLineEnds, '')) === 0) return lineEnd;
  const joined = without(text.slice(from, lineEnd), coloursAndLineEnds);
  const begun = literals.begunAtEndOf(joined.text);
  const [secret] = joined.inOriginal([{ start: joined.text.length - begun, end: joined.text.length }]);
  return from + secret!.start;
};
