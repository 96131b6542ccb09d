/** A tag that does not count. */
export interface Mention {
  /** The words up to it, and the tag. */
  readonly words: string;
  readonly why: string;
}

/** Where a tag stands in a text. */
export interface Tag {
  readonly start: number;
  readonly end: number;
}

/** Matches `<promise>TEXT</promise>`, each TEXT literally, with any white space around it. */
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

/** The last tag that was meant to be the promise and is not, by its case, its form or what else is in it. */
export const lastNearMiss = (text: string, promise: string): NearMiss | null => {
  const wanted = promise.trim();
  const near = [...text.matchAll(loosePattern(wanted.length + longestNote))].findLast(
    ([whole, inside]) => isNear(inside!, wanted) && !tagPattern(wanted).test(whole),
  );
  if (near === undefined) return null;
  const tag = { start: near.index, end: near.index + near[0].length };
  return { tag, why: differenceOf(near[0], near[1]!, wanted) };
};

/** How much emphasis, quotes or blanks may stand inside a near miss, in characters, or a reason behind its text. */
const roomInside = 24;
const longestNote = 300;

const loosePattern = (longest: number): RegExp =>
  new RegExp(
    `(?:<|&lt;)\\s*promise\\s*(?:>|&gt;)([^<>&]{1,${longest}})(?:<|&lt;)\\s*(?:/\\s*)?promise\\s*(?:>|&gt;)`,
    'gi',
  );

const isNear = (inside: string, wanted: string): boolean => {
  const bare = bareOf(inside);
  if (bare === '') return false;
  const note = inside.trim().slice(wanted.length);
  return (
    (bare === bareOf(wanted) && inside.length <= wanted.length + roomInside) ||
    (inside.trim().startsWith(wanted) && /^\s*[:：,–—-]\s*\S/.test(note))
  );
};

/** Letters and digits only, in one case and one Unicode form. */
const bareOf = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

const differenceOf = (whole: string, inside: string, wanted: string): string => {
  if (/[\r\n]/.test(inside.trim())) return `its text, "${wanted}", must stand on one line`;
  if (inside.trim().normalize('NFC') === wanted.normalize('NFC') && inside.trim() !== wanted)
    return `its text, "${wanted}", was written in another Unicode form`;
  if (/[:：,–—-]/.test(inside) && bareOf(inside) !== bareOf(wanted))
    return `it must read <promise>${wanted}</promise>, with whatever else there is to say outside of it`;
  return `it must read <promise>${wanted}</promise>, not ${whole}`;
};
