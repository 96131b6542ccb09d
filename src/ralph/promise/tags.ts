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

/** The name of a tag that an agent prints as its last line. A reviewer prints a verdict. */
export type TagName = 'promise' | 'verdict';

/** The text in a tag that is looked for. */
export interface Sought {
  readonly text: string;
  readonly tagName: TagName;
}

/** Matches `<promise>TEXT</promise>` for each literal TEXT, with any whitespace around it. */
export const tagPattern = (texts: readonly string[], tagName: TagName): RegExp =>
  new RegExp(`<${tagName}>\\s*(?:${texts.map((text) => escaped(text.trim())).join('|')})\\s*</${tagName}>`, 'g');

const escaped = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

export const lastTag = (text: string, sought: Sought): Tag | null => {
  const match = [...text.matchAll(tagPattern([sought.text], sought.tagName))].at(-1);
  return match === undefined ? null : { start: match.index, end: match.index + match[0].length };
};

interface NearMiss {
  readonly tag: Tag;
  /** How it differs from the promise. */
  readonly why: string;
}

/** Returns the last tag that resembles the promise but differs in case, form or content. */
export const lastNearMiss = (text: string, { tagName, ...sought }: Sought): NearMiss | null => {
  const expected = sought.text.trim();
  const near = [...text.matchAll(loosePattern(tagName, expected.length + maxNoteLength))].findLast(
    ([whole, inside]) => isNear(inside!, expected) && !tagPattern([expected], tagName).test(whole),
  );
  if (near === undefined) return null;
  const tag = { start: near.index, end: near.index + near[0].length };
  return { tag, why: differenceOf(near[0], near[1]!, { text: expected, tagName }) };
};

/** How many characters of emphasis, quotes or spaces a near miss may contain. */
const maxDecorationLength = 24;
/** How many characters of explanation a near miss may contain. */
const maxNoteLength = 300;

const loosePattern = (tagName: TagName, maxLength: number): RegExp =>
  new RegExp(
    `(?:<|&lt;)\\s*${tagName}\\s*(?:>|&gt;)([^<>&]{1,${maxLength}})(?:<|&lt;)\\s*(?:/\\s*)?${tagName}\\s*(?:>|&gt;)`,
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

const differenceOf = (whole: string, inside: string, { text: expected, tagName }: Sought): string => {
  if (/[\r\n]/.test(inside.trim())) return `its text, "${expected}", must be on one line`;
  if (inside.trim().normalize('NFC') === expected.normalize('NFC') && inside.trim() !== expected)
    return `its text, "${expected}", was written in another Unicode form`;
  if (/[:：,–—-]/.test(inside) && bareOf(inside) !== bareOf(expected))
    return `it must read <${tagName}>${expected}</${tagName}>, with any other text outside of it`;
  return `it must read <${tagName}>${expected}</${tagName}>, not ${whole}`;
};
