import { type Tag, type TagName, tagPattern } from './promise.ts';

/** Collects the end of a text that arrives in chunks, and the last tags before it, in constant memory. */
export interface Tail {
  feed(chunk: string): void;
  /** The end of the text: at least the part that decides about a promise. */
  readonly text: string;
  /** Tags in `text` before this index are in `earlier`. */
  readonly scannedUpTo: number;
  /** Oldest first. */
  readonly earlier: readonly TagInText[];
}

/** A tag with the text around it. */
interface TagInText extends Tag {
  readonly text: string;
  /** More of the text before the tag, and the tag. */
  readonly words: string;
}

/** The text is scanned in blocks at multiples of this length, so that chunk boundaries do not matter. */
const blockLength = 8 * 1024;
/** How many characters before and after an earlier tag are stored with it. */
const around = 1000;
/**
 * How much of the text up to a tag is passed on: what is stored in the end, and what is needed to find secrets in it.
 */
export const maxWordsLength = 8 * 1024;

export const createTail = (texts: readonly string[], maxTags: number, tagName: TagName = 'promise'): Tail => {
  const opening = `<${tagName}>`;
  let text = '';
  let scannedUpTo = 0;
  let earlier: readonly TagInText[] = [];

  const scanBlock = (): void => {
    const block = text.slice(scannedUpTo, scannedUpTo + blockLength + around);
    const tags = [...block.matchAll(tagPattern(texts, tagName))]
      .filter(({ index }) => index < blockLength)
      .slice(-maxTags);
    const excerpts = tags.map(({ index, 0: tag }) => {
      const start = Math.max(0, scannedUpTo + index - around);
      const end = scannedUpTo + index + tag.length;
      return {
        text: text.slice(start, end + around),
        words: text.slice(Math.max(0, end - maxWordsLength), end),
        start: scannedUpTo + index - start,
        end: end - start,
      };
    });
    earlier = [...earlier, ...excerpts].slice(-maxTags);
  };

  /** Whether there may be a tag in what is not yet scanned. Does not join the two texts, which would copy them. */
  const mayHaveTags = (chunk: string): boolean =>
    chunk.includes(opening) ||
    text.includes(opening, scannedUpTo) ||
    (text.slice(-opening.length) + chunk.slice(0, opening.length)).includes(opening);

  /** Moves on as far as scanning would. */
  const skip = (chunk: string): void => {
    const unscanned = text.length + chunk.length - scannedUpTo;
    const end = scannedUpTo + (Math.ceil(unscanned / blockLength) - 2) * blockLength;
    const start = Math.max(0, end - blockLength);
    text = start < text.length ? (text + chunk).slice(start) : chunk.slice(start - text.length);
    scannedUpTo = end - start;
  };

  const scan = (chunk: string): void => {
    text += chunk;
    while (text.length - scannedUpTo > 2 * blockLength) {
      scanBlock();
      scannedUpTo += blockLength;
      if (scannedUpTo === blockLength) continue;
      text = text.slice(blockLength);
      scannedUpTo -= blockLength;
    }
  };

  return {
    feed(chunk) {
      if (text.length + chunk.length - scannedUpTo <= 2 * blockLength) text += chunk;
      else if (mayHaveTags(chunk)) scan(chunk);
      else skip(chunk);
    },
    get text() {
      return text;
    },
    get scannedUpTo() {
      return scannedUpTo;
    },
    get earlier() {
      return earlier;
    },
  };
};
