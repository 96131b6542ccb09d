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
  /** What may be written of all that was given so far; the end of an open line is held back. It is good until the next call. */
  pass(chunk: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

const mask = '[redacted]';

/** Keys that can be told by their shape: how they start, and what must follow. */
const shapes: readonly { readonly starts: readonly string[]; readonly rest: string }[] = [
  { starts: ['sk-'], rest: String.raw`[\w-]{20,}` },
  { starts: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], rest: String.raw`\w{36,}` },
  { starts: ['github_pat_'], rest: String.raw`\w{22,}` },
  { starts: ['glpat-'], rest: String.raw`[\w-]{20,}` },
  { starts: ['AKIA', 'ASIA'], rest: '[0-9A-Z]{16}' },
  { starts: ['AIza'], rest: String.raw`[\w-]{35}` },
  { starts: ['xoxa-', 'xoxb-', 'xoxe-', 'xoxp-', 'xoxr-', 'xoxs-'], rest: String.raw`[\w-]{10,}` },
  { starts: ['npm_'], rest: String.raw`\w{36}` },
  { starts: ['_authToken='], rest: String.raw`[^\s"'$]{8,}` },
  { starts: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'], rest: String.raw`\w{16,}` },
  { starts: ['hf_', 'gsk_'], rest: String.raw`\w{30,}` },
  { starts: ['eyJ'], rest: String.raw`[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}` },
  {
    starts: ['-----BEGIN '],
    // Its end may be cut off: then it goes as far as its lines do.
    rest: String.raw`[A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]{0,16384}?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|(?:(?:\\[nr]|\s)+[\w+/=]{16,})+)`,
  },
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
  const inBytes = createFinder(values.map((value) => Buffer.from(value).toString('latin1')));
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

const literally = (text: string) => text.replaceAll(/[$()*+.?[\\\]^{|}/-]/g, String.raw`\$&`);

const patternOf = (values: readonly string[]) =>
  new RegExp(
    [
      ...values.map(literally),
      ...shapes.map(({ starts, rest }) => `(?:${starts.map(literally).join('|')})${rest}`),
    ].join('|'),
    'g',
  );

interface Finder {
  readonly pattern: RegExp;
  /** Whether the pattern occurs at all; many times as fast as the pattern itself. */
  occursIn(text: string): boolean;
}

/** From the rarest in ordinary text: one of them is in every start, and is what is looked for. */
const rare = ['B', 'K', 'S', 'I', 'J', '=', '_', '-'] as const;

const createFinder = (values: readonly string[]): Finder => {
  const starts = shapes.flatMap(({ starts, rest }) => starts.map((start) => startOf(start, rest)));
  const groups = rare.map((char) => {
    const own = starts.filter((start) => start.char === char);
    return { char, own, before: new Set(own.map(({ text, offset }) => text.charCodeAt(offset - 1))) };
  });
  const holdsStart = (text: string): boolean =>
    groups.some(({ char, own, before }) => {
      for (let at = text.indexOf(char, 1); at !== -1; at = text.indexOf(char, at + 1))
        if (before.has(text.charCodeAt(at - 1)) && own.some((start) => start.isAt(text, at))) return true;
      return false;
    });
  return {
    pattern: patternOf(values),
    occursIn: (text) => values.some((value) => text.includes(value)) || holdsStart(text),
  };
};

const startOf = (text: string, rest: string) => {
  const char = rare.find((each) => text.includes(each))!;
  const offset = text.indexOf(char);
  const whole = new RegExp(`${literally(text)}${rest}`, 'y');
  return {
    text,
    char,
    offset,
    /** Whether a secret with this start has its rare character at that place. */
    isAt: (words: string, at: number): boolean => {
      if (!words.startsWith(text, at - offset)) return false;
      whole.lastIndex = at - offset;
      return whole.test(words);
    },
  };
};

/** No secret that is looked for is longer, but for private keys. */
const longestSecret = 16 * 1024;
const longestKey = 20_000;

const createByteRedactor = (finder: Finder): ByteRedactor => {
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
      const { clean, end } = cleaned({ bytes, text }, safeEnd(text), finder);
      from = end;
      return clean;
    },
    end() {
      const bytes = room.subarray(from, to);
      from = to;
      return cleaned({ bytes, text: bytes.toString('latin1') }, bytes.length, finder).clean;
    },
  };
};

interface Words {
  readonly bytes: Buffer;
  /** A character for each byte. */
  readonly text: string;
}

/** What comes before `end`, without secrets; less of it when a secret lies across the end. */
const cleaned = ({ bytes, text }: Words, end: number, finder: Finder): { clean: Buffer; end: number } => {
  if (!finder.occursIn(text)) return { clean: bytes.subarray(0, end), end };
  const { pattern } = finder;
  const across = [...text.matchAll(pattern)].find(({ index, 0: found }) => index < end && index + found.length > end);
  const last = across && bytes.length - across.index < longestKey ? across.index : end;
  return { clean: Buffer.from(text.slice(0, last).replace(pattern, mask), 'latin1'), end: last };
};

/** Up to where no secret can go on in the next chunk: the end of a line, or far enough before the end of a long one. */
const safeEnd = (text: string): number => {
  // Looking for the last one takes long where there is none.
  const lineEnd = text.includes('\n') ? text.lastIndexOf('\n') + 1 : 0;
  const end = Math.max(lineEnd, text.length - longestSecret);
  const key = text.includes('-----BEGIN ') ? text.lastIndexOf('-----BEGIN ', end) : -1;
  if (key === -1 || text.length - key >= longestKey) return end;
  const closed = /-----END [A-Z ]*-----/.test(text.slice(key));
  return closed ? end : Math.min(key, end);
};
