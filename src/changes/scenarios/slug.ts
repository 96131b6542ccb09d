import { shortHash } from '../short-hash.ts';

/** Characters of a part of an id. */
const maxSlug = 60;

/**
 * Turns a title into a part of an id: letters and digits of any script in lower case, with `-` between words. Accents of
 * Latin letters are dropped. A long title is cut, and gets a hash of all of it; so does one without letters and digits.
 */
export const slugOf = (title: string): string => {
  const words = plain(title).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  if (words.length === 0) return shortHash(title.trim());
  const slug = words.join('-');
  const chars = [...slug];
  if (chars.length <= maxSlug) return slug;
  const start = chars.slice(0, maxSlug - '-123456'.length).join('');
  const atWord = start.lastIndexOf('-');
  return `${atWord > start.length / 2 ? start.slice(0, atWord) : start}-${shortHash(slug)}`;
};

const plain = (title: string): string =>
  title
    .normalize('NFKD')
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{Default_Ignorable_Code_Point}|\p{Me}/gu, '')
    .replaceAll(/(\p{Script=Latin})[\u0300-\u036f]+/gu, '$1')
    .normalize('NFC');

/** Ids that differ only in case, or in how a letter is encoded, are the same. */
export const foldId = (id: string): string => id.normalize('NFC').toLowerCase();

/** An id that an author gave, as it is if it can be written behind `@scenario`. */
export const givenPart = (id: string): string => (/^[\p{L}\p{N}][\p{L}\p{N}\p{M}_.:/#-]*$/u.test(id) ? id : slugOf(id));

/**
 * Splits an id that an author wrote in front of a text from it: `[AC-1] Text`, `**FR-001**: Text`, `AC1: Text`,
 * `#1 Text`. The id is null if there is none.
 */
export const splitGivenId = (text: string): { readonly id: string | null; readonly rest: string } => {
  const found = givenId.exec(text);
  if (found === null) return { id: null, rest: text };
  const rest = text.slice(found[0].length).trim();
  const id = found.slice(1).find((each) => each !== undefined)!;
  return rest === '' ? { id: null, rest: text } : { id, rest };
};

const code = String.raw`([A-Z][A-Za-z]{0,15}(?:[-_][A-Z0-9]{1,16}){0,4}[-_.]?\d{1,6}(?:\.\d{1,6}){0,4}[a-z]?)`;
const givenId = new RegExp(String.raw`^(?:\[${code}\]:?|\*\*\[?${code}\]?:?\*\*:?|${code}:|#(\d{1,6}))(?=\s)\s*`, 'u');
