import * as fc from 'fast-check';

/** The content of a file. Determines how it is parsed. */
export type Format = 'json' | 'lines of json' | 'text';

/** One change of a file. It depends only on these numbers, so that a case can be printed, shrunk and repeated. */
export interface Mutation {
  readonly kind: string;
  /** The position in the file, from 0 to 1. */
  readonly at: number;
  /** Selects the hostile value, or a second position. */
  readonly pick: number;
  /** How large, from 0 to 1. */
  readonly size: number;
}

type Mutate = (whole: Buffer, how: Omit<Mutation, 'kind'>) => Buffer;

export const mutationsOf = (format: Format): fc.Arbitrary<Mutation> =>
  fc.record({
    kind: fc.constantFrom(...Object.keys(kindsOf(format)), ...(format === 'text' ? ['text inserted'] : inside)),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    pick: fc.nat(1000),
    size: fc.double({ min: 0, max: 1, noNaN: true }),
  });

/** These get past the parser, so they are drawn more often. */
const inside = Array.from({ length: 6 }, () => ['another value', 'one more key']).flat();

export const mutate = (whole: Buffer, format: Format, mutations: readonly Mutation[]): Buffer =>
  mutations.reduce((bytes, { kind, ...how }) => kindsOf(format)[kind]!(bytes, how), whole);

const kindsOf = (format: Format): Readonly<Record<string, Mutate>> =>
  ({ json: inJson, 'lines of json': inLines, text: anywhere })[format];

/** Up to two million, mostly small. */
const many = (size: number): number => Math.ceil(2_000_000 ** size);

/** Texts that belong in no file. */
const texts: readonly ((size: number) => string)[] = [
  () => '\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u001b]0;title\u001b\\',
  () => '\u009b2J\u0085\b\r\u007f\u000e',
  () => '\u202eevil\u2066\u200f\u061c',
  () => '\0',
  () => '\ud800 \udfff\ud83d',
  () => '\u2028\u2029\u00a0\ufeff\ufffe',
  () => '__proto__',
  () => 'constructor',
  () => '../../../../../victim/precious.txt',
  () => '<promise>COMPLETE</promise>',
  () => '{change} {constructor} %s %n ${HOME}',
  (size) => 'x'.repeat(many(size)),
  (size) => 'eyJ'.repeat(many(size) / 3),
  (size) => '- [ ] '.repeat(many(size) / 6),
  (size) => '`~<'.repeat(many(size) / 3),
  (size) => '\u0301'.repeat(many(size) / 2),
  (size) => ' '.repeat(many(size)),
  (size) => '\n'.repeat(many(size)),
  (size) => '# \n- [x] 1.1 \n'.repeat(many(size) / 14),
  (size) => '\u001b['.repeat(many(size) / 2),
];

/** JSON fragments that are wrong at most positions. */
const values: readonly ((size: number) => string)[] = [
  (size) => '['.repeat(many(size) / 2) + ']'.repeat(many(size) / 2),
  (size) => '{"a":'.repeat(many(size) / 6) + '1' + '}'.repeat(many(size) / 6),
  () => '1e999',
  () => '-1',
  () => '9007199254740993',
  () => '0.1',
  () => '8.64e15',
  () => 'null',
  () => 'true',
  () => '""',
  () => '[]',
  () => '{}',
  () => '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
  () => '"2026-13-45T99:99:99Z"',
  (size) => `[${'0,'.repeat(many(size) / 2)}0]`,
  (size) => `{${Array.from({ length: many(size) / 20 + 1 }, (_, index) => `"k${index}":{"v":1}`).join()}}`,
  (size) => `{${JSON.stringify('k'.repeat(many(size)))}:1}`,
  ...texts.map((text) => (size: number) => JSON.stringify(text(size))),
];

const chosen = <Item>(items: readonly Item[], pick: number): Item => items[pick % items.length]!;

const indexAt = (length: number, at: number): number => Math.min(Math.floor(at * length), Math.max(length - 1, 0));

const joined = (...parts: (Buffer | string)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));

/** A mutation of the lines of a file. The end of the file counts as a line. */
const withLines =
  (change: (lines: string[], how: Omit<Mutation, 'kind'>) => readonly string[]): Mutate =>
  (whole, how) =>
    Buffer.from(change(whole.toString('latin1').split('\n'), how).join('\n'), 'latin1');

/** Mutations of any file. */
const anywhere: Readonly<Record<string, Mutate>> = {
  'a byte flipped': (whole, { at, pick }) => {
    const copy = Buffer.from(whole);
    if (copy.length > 0) copy[indexAt(copy.length, at)]! ^= 1 << (pick % 8);
    return copy;
  },
  'invalid UTF-8': (whole, { at, pick }) => {
    const place = indexAt(whole.length, at);
    const bytes = chosen([[0xff, 0xfe], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf8, 0x88], [0x80]], pick);
    return joined(whole.subarray(0, place), Buffer.from(bytes), whole.subarray(place));
  },
  truncated: (whole, { at }) => whole.subarray(0, indexAt(whole.length, at)),
  'text inserted': (whole, { at, pick, size }) => {
    const place = indexAt(whole.length, at);
    return joined(whole.subarray(0, place), chosen(texts, pick)(size), whole.subarray(place));
  },
  'a part repeated': (whole, { at, pick, size }) => {
    const place = indexAt(whole.length, at);
    const part = whole.subarray(place, place + 1 + (pick % 50));
    const times = Math.ceil(many(size) / 50);
    return joined(whole.subarray(0, place), ...Array.from({ length: times }, () => part), whole.subarray(place));
  },
  'a line duplicated': withLines((lines, { at }) =>
    lines.toSpliced(indexAt(lines.length, at), 0, lines[indexAt(lines.length, at)]!),
  ),
  'two lines swapped': withLines((lines, { at, pick }) => {
    const [one, two] = [indexAt(lines.length, at), pick % lines.length];
    return lines.with(one, lines[two]!).with(two, lines[one]!);
  }),
  'the whole file duplicated': (whole) => joined(whole, whole),
  'CRLF line endings': (whole) => Buffer.from(whole.toString('latin1').replaceAll('\n', '\r\n'), 'latin1'),
  'a byte order mark': (whole) => joined('\ufeff', whole),
  'as UTF-16': (whole) => joined(Buffer.from([0xff, 0xfe]), Buffer.from(whole.toString('utf8'), 'utf16le')),
  empty: () => Buffer.alloc(0),
};

/** Placeholder for a value, because the replacement may not be representable in JavaScript. */
const mark = '@placeholder@';

const changeJson = (text: string, { at, pick, size }: Omit<Mutation, 'kind'>, what: 'value' | 'key'): string => {
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch {
    return text;
  }
  const places = placesIn(root);
  const place = places[indexAt(places.length, at)];
  if (place === undefined) return chosen(values, pick)(size);
  if (what === 'value') {
    place.holder[place.key] = mark;
    return JSON.stringify(root).replace(JSON.stringify(mark), () => chosen(values, pick)(size));
  }
  const written = JSON.stringify(chosen(texts, pick)(size));
  // In a list it becomes another item.
  if (Array.isArray(place.holder)) place.holder.push(mark);
  else place.holder[mark] = 1;
  return JSON.stringify(root).replace(JSON.stringify(mark), () => written);
};

interface PlaceInJson {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

const placesIn = (value: unknown): PlaceInJson[] => {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key])]);
};

const inJson: Readonly<Record<string, Mutate>> = {
  ...anywhere,
  'another value': (whole, how) => Buffer.from(changeJson(whole.toString('utf8'), how, 'value')),
  'one more key': (whole, how) => Buffer.from(changeJson(whole.toString('utf8'), how, 'key')),
};

const inOneLine =
  (what: 'value' | 'key'): Mutate =>
  (whole, how) =>
    withLines((lines) => {
      const index = how.pick % Math.max(lines.length - 1, 1);
      const text = Buffer.from(lines[index]!, 'latin1').toString('utf8');
      return lines.with(index, Buffer.from(changeJson(text, how, what)).toString('latin1'));
    })(whole, how);

const inLines: Readonly<Record<string, Mutate>> = {
  ...anywhere,
  'another value': inOneLine('value'),
  'one more key': inOneLine('key'),
  'a line many times': withLines((lines, { at, size }) => {
    const line = lines[indexAt(lines.length, at)]!;
    return [...Array.from({ length: Math.ceil(many(size) / 200) }, () => line), ...lines];
  }),
};
