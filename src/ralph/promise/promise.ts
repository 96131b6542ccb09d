/** A tag that does not count. */
export interface Mention {
  /** The text up to and including the tag. */
  readonly words: string;
  readonly why: string;
}

/** The position of a tag in a text. */
export interface Tag {
  readonly start: number;
  readonly end: number;
}

/** Matches `<promise>TEXT</promise>` for each literal TEXT, with any whitespace around it. */
export const tagPattern = (...promises: readonly string[]): RegExp =>
  new RegExp(`<promise>\\s*(?:${promises.map((promise) => escaped(promise.trim())).join('|')})\\s*</promise>`, 'g');

const escaped = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

export const lastTag = (text: string, promise: string): Tag | null => {
  const match = [...text.matchAll(tagPattern(promise))].at(-1);
  return match === undefined ? null : { start: match.index, end: match.index + match[0].length };
};

interface NearMiss {
  readonly tag: Tag;
  /** How it differs from the promise. */
  readonly why: string;
}

/** Returns the last tag that resembles the promise but differs in case, form or content. */
export const lastNearMiss = (text: string, promise: string): NearMiss | null => {
  const expected = promise.trim();
  const near = [...text.matchAll(loosePattern(expected.length + maxNoteLength))].findLast(
    ([whole, inside]) => isNear(inside!, expected) && !tagPattern(expected).test(whole),
  );
  if (near === undefined) return null;
  const tag = { start: near.index, end: near.index + near[0].length };
  return { tag, why: differenceOf(near[0], near[1]!, expected) };
};

/** How many characters of emphasis, quotes or spaces a near miss may contain. */
const maxDecorationLength = 24;
/** How many characters of explanation a near miss may contain. */
const maxNoteLength = 300;

const loosePattern = (longest: number): RegExp =>
  new RegExp(
    `(?:<|&lt;)\\s*promise\\s*(?:>|&gt;)([^<>&]{1,${longest}})(?:<|&lt;)\\s*(?:/\\s*)?promise\\s*(?:>|&gt;)`,
    'gi',
  );

const isNear = (inside: string, expected: string): boolean => {
  const bare = bareOf(inside);
  if (bare === '') return false;
  const note = inside.trim().slice(expected.length);
  return (
    (bare === bareOf(expected) && inside.length <= expected.length + maxDecorationLength) ||
    (inside.trim().startsWith(expected) && /^\s*[:：,–—-]\s*\S/.test(note))
  );
};

/** Keeps only letters and digits, in lower case and one Unicode form. */
const bareOf = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

const differenceOf = (whole: string, inside: string, expected: string): string => {
  if (/[\r\n]/.test(inside.trim())) return `its text, "${expected}", must be on one line`;
  if (inside.trim().normalize('NFC') === expected.normalize('NFC') && inside.trim() !== expected)
    return `its text, "${expected}", was written in another Unicode form`;
  if (/[:：,–—-]/.test(inside) && bareOf(inside) !== bareOf(expected))
    return `it must read <promise>${expected}</promise>, with any other text outside of it`;
  return `it must read <promise>${expected}</promise>, not ${whole}`;
};
