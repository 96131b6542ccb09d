import { type Tag, tagPattern } from './promise.ts';

/** The end of a text that comes in chunks, and the last tags before it, in constant memory. */
export interface Tail {
  feed(chunk: string): void;
  /** The end of the text: all that decides about a promise, and more. */
  readonly text: string;
  /** From here on the tags in `text` are not among the earlier ones. */
  readonly lookedUpTo: number;
  /** Oldest first. */
  readonly earlier: readonly TagInText[];
}

/** A tag with the text around it. */
interface TagInText extends Tag {
  readonly text: string;
}

/** The text is looked through in blocks that begin at multiples of this: so it does not matter how it was cut. */
const blockLength = 8 * 1024;
/** How much of the text before and behind an earlier tag is kept with it. */
const around = 1000;

export const createTail = (promises: readonly string[], tagsKept: number): Tail => {
  let text = '';
  let lookedUpTo = 0;
  let earlier: readonly TagInText[] = [];

  const lookThroughBlock = (): void => {
    const block = text.slice(lookedUpTo, lookedUpTo + blockLength + around);
    if (!block.includes('<promise>')) return;
    const tags = [...block.matchAll(tagPattern(...promises))]
      .filter(({ index }) => index < blockLength)
      .slice(-tagsKept);
    const excerpts = tags.map(({ index, 0: tag }) => {
      const start = Math.max(0, lookedUpTo + index - around);
      const end = lookedUpTo + index + tag.length;
      return { text: text.slice(start, end + around), start: lookedUpTo + index - start, end: end - start };
    });
    earlier = [...earlier, ...excerpts].slice(-tagsKept);
  };

  return {
    feed(chunk) {
      text += chunk;
      while (text.length - lookedUpTo > 2 * blockLength) {
        lookThroughBlock();
        lookedUpTo += blockLength;
        if (lookedUpTo === blockLength) continue;
        text = text.slice(blockLength);
        lookedUpTo -= blockLength;
      }
    },
    get text() {
      return text;
    },
    get lookedUpTo() {
      return lookedUpTo;
    },
    get earlier() {
      return earlier;
    },
  };
};
