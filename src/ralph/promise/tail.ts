import { type Tag, tagPattern } from './promise.ts';

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

export const createTail = (promises: readonly string[], maxTags: number): Tail => {
  let text = '';
  let scannedUpTo = 0;
  let earlier: readonly TagInText[] = [];

  const scanBlock = (): void => {
    const block = text.slice(scannedUpTo, scannedUpTo + blockLength + around);
    const tags = [...block.matchAll(tagPattern(...promises))]
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

  return {
    feed(chunk) {
      text += chunk;
      if (text.length - scannedUpTo <= 2 * blockLength) return;
      const mayHaveTags = text.includes('<promise>', scannedUpTo);
      while (text.length - scannedUpTo > 2 * blockLength) {
        if (mayHaveTags) scanBlock();
        scannedUpTo += blockLength;
        if (scannedUpTo === blockLength) continue;
        text = text.slice(blockLength);
        scannedUpTo -= blockLength;
      }
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
