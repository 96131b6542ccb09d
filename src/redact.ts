import { existsSync } from 'node:fs';

/** Takes secrets out of what is written down. What is searched for the promise is not touched. */
export interface Redactor {
  text(text: string): string;
  /** Plain data with every text in it cleaned: a copy, unless it is clean already. */
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

interface Shape {
  /** Each of two characters or more. */
  readonly starts: readonly string[];
  /** The pattern of what must follow. It is linear, and bounded by `longestSecret`. */
  readonly rest: string;
  /** A rarer character that is in every such secret: without it nothing else is looked for. */
  readonly needs?: string;
}

/** Secrets that can be recognised by their shape. */
export const shapes: readonly Shape[] = [
  { starts: ['sk-'], rest: String.raw`(?=[\w-]{0,200}\d)[\w-]{20,}` },
  { starts: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], rest: String.raw`\w{36,}` },
  { starts: ['github_pat_'], rest: String.raw`\w{22,}` },
  { starts: ['glpat-'], rest: String.raw`[\w-]{20,}` },
  { starts: ['AKIA', 'ASIA'], rest: '[0-9A-Z]{16}' },
  { starts: ['AIza'], rest: String.raw`[\w-]{35}` },
  { starts: ['xoxa-', 'xoxb-', 'xoxe-', 'xoxp-', 'xoxr-', 'xoxs-'], rest: String.raw`[\w-]{10,}` },
  { starts: ['npm_'], rest: String.raw`[A-Za-z0-9]{36}(?!\w)` },
  { starts: ['_authToken='], rest: String.raw`[^\s"'$]{8,}` },
  { starts: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'], rest: String.raw`\w{16,}` },
  { starts: ['hf_', 'gsk_'], rest: '[A-Za-z0-9]{30,}' },
  { starts: ['SG.'], rest: String.raw`[\w-]{22}\.[\w-]{43}` },
  { starts: ['dapi'], rest: '[0-9a-f]{32}' },
  { starts: ['lin_api_', 'lin_oauth_'], rest: String.raw`\w{40,}` },
  { starts: ['shpat_', 'shpca_', 'shppa_', 'shpss_', 'shpua_'], rest: '[0-9a-fA-F]{32}' },
  { starts: ['dckr_pat_', 'dckr_oat_'], rest: String.raw`[\w-]{27,}` },
  { starts: ['dop_v1_', 'doo_v1_'], rest: '[0-9a-f]{64}' },
  { starts: ['GOCSPX-'], rest: String.raw`[\w-]{28}` },
  { starts: ['pypi-AgEI'], rest: String.raw`[\w-]{50,}` },
  { starts: ['ATATT3'], rest: String.raw`[\w=-]{50,}` },
  { starts: ['xapp-', 'xai-', 'pplx-', 'figd_', 'sbp_'], rest: String.raw`(?=[\w-]{0,200}\d)[\w-]{30,}` },
  { starts: ['AccountKey='], rest: '[A-Za-z0-9+/]{86}==' },
  { starts: ['whsec_'], rest: '[A-Za-z0-9+/]{32,}' },
  { starts: ['AGE-SECRET-KEY-1'], rest: '[0-9A-Z]{58}' },
  { starts: ['hooks.slack.com/services/T'], rest: String.raw`\w{6,}/B\w{6,}/\w{16,}` },
  {
    starts: ['aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY', 'secretAccessKey', 'SecretAccessKey'],
    rest: String.raw`[ \t"'\\]{0,8}[:=][ \t"'\\]{0,8}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])`,
  },
  {
    // A password in a URL, but not the `postgres:postgres@localhost` of an example, nor a variable in its place.
    starts: ['://'],
    needs: '@',
    rest: String.raw`[^\s:/?#@"'<>(),\\]{0,100}:(?![$%{*])[^\s/?#@"'<>(),\\]{6,200}@(?!(?:[\w-]+\.)*example\.|(?:127|10|0)\.|192\.168\.)[\w-]+\.[\w.-]+`,
  },
  {
    starts: ['eyJ'],
    // Where it is glued to other words, as in `token_eyJ…`, every few characters may begin one: it is looked for less far.
    rest: String.raw`(?:(?<![\w-]eyJ)[\w-]{10,6000}|[\w-]{10,400})\.eyJ[\w-]{10,6000}\.[\w-]{10,4000}`,
  },
  {
    starts: ['-----BEGIN '],
    // Its end may be cut off: then it goes as far as its lines do.
    rest: String.raw`[A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-(?!----)){0,16384}-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|(?:(?:\\[nr]|\s)+[\w+/=]{16,})+)`,
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
  const inTexts = createFinder(values);
  const inBytes = createFinder(values.map((value) => Buffer.from(value).toString('latin1')));
  const clean = (text: string) => (inTexts.occursIn(text) ? text.replace(inTexts.pattern, mask) : text);
  return {
    text: clean,
    data: (data) => mapTexts(data, clean) as typeof data,
    stream: () => createByteRedactor(inBytes),
  };
};

/** Copies only what has a text in it that is changed: hardly anything has, and this is called with every event. */
const mapTexts = (data: unknown, change: (text: string) => string): unknown => {
  if (typeof data === 'string') return change(data);
  if (typeof data !== 'object' || data === null) return data;
  const before = data as Record<string, unknown>;
  let copy: Record<string, unknown> | null = null;
  for (const key of Object.keys(before)) {
    const next = mapTexts(before[key], change);
    if (next === before[key]) continue;
    copy ??= (Array.isArray(data) ? [...data] : { ...before }) as Record<string, unknown>;
    copy[key] = next;
  }
  return copy ?? data;
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

/**
 * A key does not begin in the middle of a word. A letter before it may be the end of an escape in JSON (`\\n`), or of a
 * colour code.
 */
const wordStart = String.raw`(?<!(?<!\\|\u001b\[[\d;]*)[A-Za-z0-9])`;

const sourceOf = (start: string, rest: string): string =>
  `${/^\w/.test(start) ? wordStart : ''}${literally(start)}${rest}`;

const patternOf = (values: readonly string[]) =>
  new RegExp(
    [
      ...values.map(literally),
      ...shapes.flatMap(({ starts, rest }) => starts.map((start) => sourceOf(start, rest))),
    ].join('|'),
    'g',
  );

interface Finder {
  readonly pattern: RegExp;
  /** Whether the pattern occurs at all; many times as fast as the pattern itself. */
  occursIn(text: string): boolean;
}

/**
 * One of them is in nearly every start, the rarest in ordinary text first. Looking for one of them is many times as fast
 * as looking for each start, and each is one more pass over all output: as few as will do.
 */
const rare = ['J', 'K', 'I', 'G', 'k', '_', '-', 'p'] as const;

const createFinder = (values: readonly string[]): Finder => {
  const starts = shapes.flatMap((shape) => shape.starts.map((start) => startOf(start, shape)));
  const groups = rare.map((char) => {
    const own = starts.filter((start) => start.rare?.char === char);
    return { char, own, before: new Set(own.map(({ text, rare }) => text.charCodeAt(rare!.offset - 1))) };
  });
  const others = starts.filter((start) => start.rare === null);
  const holdsRareStart = (text: string): boolean =>
    groups.some(({ char, own, before }) => {
      for (let at = text.indexOf(char, 1); at !== -1; at = text.indexOf(char, at + 1))
        if (before.has(text.charCodeAt(at - 1)) && own.some((start) => start.isAt(text, at - start.rare!.offset)))
          return true;
      return false;
    });
  const holdsOtherStart = (text: string): boolean =>
    others.some((start) => {
      if (start.needs !== undefined && !text.includes(start.needs)) return false;
      for (let at = text.indexOf(start.text); at !== -1; at = text.indexOf(start.text, at + 1))
        if (start.isAt(text, at)) return true;
      return false;
    });
  return {
    pattern: patternOf(values),
    occursIn: (text) => values.some((value) => text.includes(value)) || holdsRareStart(text) || holdsOtherStart(text),
  };
};

const startOf = (text: string, { rest, needs }: Shape) => {
  // Not the first character: the one before it is compared as well.
  const char = rare.find((each) => text.includes(each, 1));
  const whole = new RegExp(sourceOf(text, rest), 'y');
  return {
    text,
    needs,
    /** Where its rarest character is; null when all of them are common. */
    rare: char === undefined ? null : { char, offset: text.indexOf(char, 1) },
    isAt: (words: string, at: number): boolean => {
      if (!words.startsWith(text, at)) return false;
      whole.lastIndex = at;
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
