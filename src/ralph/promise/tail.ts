import { type Tag, type TagName, tagPattern } from './tags.ts';

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
  const state: TailState = { texts, maxTags, tagName, text: '', scannedUpTo: 0, earlier: [] };
  return {
    feed: (chunk) => feed(state, chunk),
    get text() {
      return state.text;
    },
    get scannedUpTo() {
      return state.scannedUpTo;
    },
    get earlier() {
      return state.earlier;
    },
  };
};

interface TailState {
  readonly texts: readonly string[];
  readonly maxTags: number;
  readonly tagName: TagName;
  text: string;
  scannedUpTo: number;
  earlier: readonly TagInText[];
}

const feed = (state: TailState, chunk: string): void => {
  if (state.text.length + chunk.length - state.scannedUpTo <= 2 * blockLength) state.text += chunk;
  else if (mayHaveTags(state, chunk)) scan(state, chunk);
  else skip(state, chunk);
};

/** Whether there may be a tag in what is not yet scanned. Does not join the two texts, which would copy them. */
const mayHaveTags = ({ text, scannedUpTo, tagName }: TailState, chunk: string): boolean => {
  const opening = `<${tagName}>`;
  return (
    chunk.includes(opening) ||
    text.includes(opening, scannedUpTo) ||
    (text.slice(-opening.length) + chunk.slice(0, opening.length)).includes(opening)
  );
};

/** Moves on as far as scanning would. */
const skip = (state: TailState, chunk: string): void => {
  const { text, scannedUpTo } = state;
  const unscanned = text.length + chunk.length - scannedUpTo;
  const end = scannedUpTo + (Math.ceil(unscanned / blockLength) - 2) * blockLength;
  const start = Math.max(0, end - blockLength);
  state.text = start < text.length ? (text + chunk).slice(start) : chunk.slice(start - text.length);
  state.scannedUpTo = end - start;
};

const scan = (state: TailState, chunk: string): void => {
  state.text += chunk;
  while (state.text.length - state.scannedUpTo > 2 * blockLength) {
    state.earlier = [...state.earlier, ...tagsInBlock(state)].slice(-state.maxTags);
    state.scannedUpTo += blockLength;
    if (state.scannedUpTo === blockLength) continue;
    state.text = state.text.slice(blockLength);
    state.scannedUpTo -= blockLength;
  }
};

const tagsInBlock = ({ text, scannedUpTo, texts, tagName, maxTags }: TailState): TagInText[] => {
  const block = text.slice(scannedUpTo, scannedUpTo + blockLength + around);
  const tags = [...block.matchAll(tagPattern(texts, tagName))].filter(({ index }) => index < blockLength);
  return tags.slice(-maxTags).map(({ index, 0: tag }) => {
    const start = Math.max(0, scannedUpTo + index - around);
    const end = scannedUpTo + index + tag.length;
    return {
      text: text.slice(start, end + around),
      words: text.slice(Math.max(0, end - maxWordsLength), end),
      start: scannedUpTo + index - start,
      end: end - start,
    };
  });
};
