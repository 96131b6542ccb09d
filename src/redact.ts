import { existsSync } from 'node:fs';

/** Takes secrets out of what is written down. What is searched for the promise is not touched. */
export interface Redactor {
  text(text: string): string;
  /** A copy of plain data, with every text in it cleaned. */
  data<Data>(data: Data): Data;
  /** For one stream of bytes, in chunks of any size. */
  stream(): ByteRedactor;
}

interface ByteRedactor {
  /** What may be written of all that was given so far; the end of an open line is held back. */
  pass(chunk: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

const mask = '[redacted]';

/** Keys that can be told by their shape. */
const shapes = [
  String.raw`sk-[\w-]{20,}`,
  String.raw`gh[pousr]_\w{36,}`,
  String.raw`github_pat_\w{22,}`,
  String.raw`glpat-[\w-]{20,}`,
  String.raw`A(?:KIA|SIA)[0-9A-Z]{16}`,
  String.raw`AIza[\w-]{35}`,
  String.raw`xox[abeprs]-[\w-]{10,}`,
  String.raw`npm_\w{36}`,
  String.raw`_authToken=[^\s"'$]{8,}`,
  String.raw`[sr]k_(?:live|test)_\w{16,}`,
  String.raw`(?:hf|gsk)_\w{30,}`,
  String.raw`eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}`,
  String.raw`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,16384}?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----`,
];

/** Variables whose value is a secret, and not a path, a number or a switch. */
const secretName = /(?:^|_)(?:KEY|TOKEN|PASS|PWD|PAT)(?:_|$)|APIKEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL/i;
/** Where something is, and how long it lasts, is no secret. */
const placeName = /_(?:PATH|FILE|DIR|SOCK|URL|NAME|LIFETIME|TTL|ID)$/i;
const shortestSecret = 8;

export const createRedactor = (env: NodeJS.ProcessEnv): Redactor => {
  const values = Object.entries(env)
    .filter(([name, value]) => secretName.test(name) && !placeName.test(name) && looksSecret(value ?? ''))
    .flatMap(([, value]) => spellings(value!))
    .toSorted((a, b) => b.length - a.length);
  const inText = patternOf(values);
  const inBytes = patternOf(values.map((value) => Buffer.from(value).toString('latin1')));
  return {
    text: (text) => text.replace(inText, mask),
    data: (data) => mapTexts(data, (text) => text.replace(inText, mask)) as typeof data,
    stream: () => createByteRedactor(inBytes),
  };
};

const mapTexts = (data: unknown, change: (text: string) => string): unknown => {
  if (typeof data === 'string') return change(data);
  if (Array.isArray(data)) return data.map((item) => mapTexts(item, change));
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, mapTexts(value, change)]));
};

/** A value stands in JSON with its quotes and newlines escaped; one of several lines may be printed line by line. */
const spellings = (value: string): string[] => {
  const lines = value.split('\n').filter((line) => line.length >= shortestSecret);
  const inJson = JSON.stringify(value).slice(1, -1);
  const inAscii = inJson.replaceAll(
    /[\u0080-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [...new Set([inJson, inAscii, ...lines])];
};

/** Long enough, and more than a plain word, a path or a number. */
const looksSecret = (value: string) =>
  value.length >= shortestSecret &&
  !/^(?:https?:\/\/[^@]*$|[\d.]+$)/.test(value) &&
  !existsSync(value) &&
  (value.length >= 20 || !/^[a-z]+$/i.test(value));

const patternOf = (values: readonly string[]) =>
  new RegExp(
    [...values.map((value) => value.replaceAll(/[$()*+.?[\\\]^{|}/-]/g, String.raw`\$&`)), ...shapes].join('|'),
    'g',
  );

/** No secret that is looked for is longer, but for private keys. */
const longestSecret = 4096;
const longestKey = 20_000;

const newline = 0x0a;

const createByteRedactor = (pattern: RegExp): ByteRedactor => {
  let held: Buffer = Buffer.alloc(0);

  return {
    pass(chunk) {
      const bytes = held.length === 0 ? asBuffer(chunk) : Buffer.concat([held, chunk]);
      const { clean, end } = cleaned(bytes, safeEnd(bytes), pattern);
      // A copy: the chunk may be a part of a larger buffer that would be kept for it.
      held = Buffer.from(bytes.subarray(end));
      return clean;
    },
    end() {
      const { clean } = cleaned(held, held.length, pattern);
      held = Buffer.alloc(0);
      return clean;
    },
  };
};

/** What comes before `end`, without secrets; less of it when a secret lies across the end. */
const cleaned = (bytes: Buffer, end: number, pattern: RegExp): { clean: Buffer; end: number } => {
  const text = bytes.toString('latin1');
  if (text.search(pattern) === -1) return { clean: bytes.subarray(0, end), end };
  const across = [...text.matchAll(pattern)].find(({ index, 0: found }) => index < end && index + found.length > end);
  const last = across && bytes.length - across.index < longestKey ? across.index : end;
  return { clean: Buffer.from(text.slice(0, last).replace(pattern, mask), 'latin1'), end: last };
};

const asBuffer = (chunk: Uint8Array) => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);

/** Up to where no secret can go on in the next chunk: the end of a line, or far enough before the end of a long one. */
const safeEnd = (bytes: Buffer): number => {
  const lineEnd = bytes.lastIndexOf(newline) + 1;
  const end = Math.max(lineEnd, bytes.length - longestSecret);
  const key = bytes.lastIndexOf('-----BEGIN ', end, 'latin1');
  if (key === -1 || bytes.length - key >= longestKey) return end;
  const closed = /-----END [A-Z ]*-----/.test(bytes.toString('latin1', key));
  return closed ? end : Math.min(key, end);
};
