import type { Span } from './literals.ts';

interface Shape {
  /** Prefixes of at least two characters. */
  readonly starts: readonly string[];
  /** The pattern of the rest. It must run in linear time and match at most `maxSecretLength` characters. */
  readonly rest: string;
  /** A character that every such secret contains; a text without it is skipped. */
  readonly needs?: string;
}

/** Secrets that are recognised by their format. */
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
    starts: ['Authorization', 'authorization', 'AUTHORIZATION'],
    // As printed in headers, code and JSON. Words and variable names rarely contain digits and letters of both cases.
    rest: String.raw`["'\\]{0,4}[:=][ \t"'\\]{0,8}(?:[Bb]asic|[Bb]earer|[Tt]oken)[ \t]{1,4}(?=\S{0,200}?\d)(?=\S{0,200}?[a-z])(?=\S{0,200}?[A-Z])[\w.~+/=-]{20,4000}`,
  },
  // `x-access-token:` in base64, as used by GitHub Actions.
  { starts: ['eC1hY2Nlc3MtdG9rZW46'], rest: '[A-Za-z0-9+/=]{16,4000}' },
  {
    // A private key in base64.
    starts: ['', 'RSA ', 'EC ', 'DSA ', 'OPENSSH ', 'ENCRYPTED '].map(
      // The last character depends on what follows.
      (kind) => btoa(`-----BEGIN ${kind}PRIVATE KEY-----`).split('=')[0]!.slice(0, -1),
    ),
    rest: '[A-Za-z0-9+/=]{40,12000}',
  },
  {
    // A password in a URL, but not that of an example such as `postgres:postgres@localhost`, nor a placeholder.
    starts: ['://'],
    needs: '@',
    rest: String.raw`[^\s:/?#@"'<>(),\\]{0,100}:(?![$%{*])[^\s/?#@"'<>(),\\]{6,200}@(?!(?:[\w-]+\.)*example\.|(?:127|10|0)\.|192\.168\.)[\w-]+\.[\w.-]+`,
  },
  {
    starts: ['eyJ'],
    // Inside a word, as in `token_eyJ…`, many positions could be a start, so the search is shorter.
    rest: String.raw`(?:(?<![\w-]eyJ)[\w-]{10,6000}|[\w-]{10,400})\.eyJ[\w-]{10,6000}\.[\w-]{10,4000}`,
  },
  {
    starts: ['-----BEGIN '],
    // The end marker may be missing: then the key extends as far as its lines.
    rest: String.raw`[A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-(?!----)){0,16384}-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|(?:(?:\\[nr]|\s)+[\w+/=]{16,})+)`,
  },
];

const literally = (text: string) => text.replaceAll(/[$()*+.?[\\\]^{|}/-]/g, String.raw`\$&`);

/**
 * A key does not start in the middle of a word. A letter before it may belong to a JSON escape (`\\n`) or a color
 * code.
 */
const wordStart = String.raw`(?<!(?<!\\|\u001b\[[\d;]*)[A-Za-z0-9])`;

const sourceOf = (start: string, rest: string): string =>
  `${/^\w/.test(start) ? wordStart : ''}${literally(start)}${rest}`;

/** Created when the first secret is found, as that takes a while. */
let anyShape: RegExp | null = null;

const createAnyShape = (): RegExp =>
  new RegExp(shapes.flatMap(({ starts, rest }) => starts.map((start) => sourceOf(start, rest))).join('|'), 'g');

export const shapeSpansIn = (text: string): Span[] =>
  [...text.matchAll((anyShape ??= createAnyShape()))].map(({ index, 0: found }) => ({
    start: index,
    end: index + found.length,
  }));

/**
 * Nearly every start contains one of these characters; the rarest in ordinary text comes first. Searching for a
 * character is much faster than searching for each start, but each one is another pass over all output, so there are
 * few.
 */
const rare = ['J', 'K', 'I', 'z', 'G', 'k', '_', '-', 'p'] as const;

const startOf = (text: string, { rest, needs }: Shape) => {
  if (text.length < 2) throw new Error(`The start of a secret needs at least two characters: ${JSON.stringify(text)}`);
  // Not the first character, since the character before it is compared too.
  const char = rare.find((each) => text.includes(each, 1));
  let whole: RegExp | null = null;
  return {
    text,
    needs,
    /** The position of its rarest character; null if it has none of `rare`, and is searched for as a whole. */
    rare: char === undefined ? null : { char, offset: text.indexOf(char, 1) },
    isAt: (words: string, at: number): boolean => {
      if (!words.startsWith(text, at)) return false;
      whole ??= new RegExp(sourceOf(text, rest), 'y');
      whole.lastIndex = at;
      return whole.test(words);
    },
  };
};

const starts = shapes.flatMap((shape) => shape.starts.map((start) => startOf(start, shape)));
const groups = rare.map((char) => {
  const members = starts.filter((start) => start.rare?.char === char);
  return { char, members, before: new Set(members.map(({ text, rare }) => text.charCodeAt(rare!.offset - 1))) };
});
const others = starts.filter((start) => start.rare === null);
const hasRareStart = (text: string): boolean =>
  groups.some(({ char, members, before }) => {
    for (let at = text.indexOf(char, 1); at !== -1; at = text.indexOf(char, at + 1))
      if (before.has(text.charCodeAt(at - 1)) && members.some((start) => start.isAt(text, at - start.rare!.offset)))
        return true;
    return false;
  });
const hasOtherStart = (text: string): boolean =>
  others.some((start) => {
    if (start.needs !== undefined && !text.includes(start.needs)) return false;
    for (let at = text.indexOf(start.text); at !== -1; at = text.indexOf(start.text, at + 1))
      if (start.isAt(text, at)) return true;
    return false;
  });

/** Whether a text contains any such secret. Much faster than `shapeSpansIn`. */
export const hasShape = (text: string): boolean => hasRareStart(text) || hasOtherStart(text);
