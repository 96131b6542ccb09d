import { somethingOpen, whyAnnounced, whyOpen } from './lines-above.ts';
import { decorationBehind, positionInLine, saysNothing, undone, unwrapped } from './tag-position.ts';
import { fenceIn, openFences } from './fences.ts';
import { lastNearMiss, lastTag, type Sought, type Tag } from './tags.ts';
import { maxWordsLength } from './tail.ts';

/** What may surround a tag, besides decoration and lines without meaning. */
export interface Allowed {
  readonly below: (lines: readonly string[]) => boolean;
  readonly onItsLine: (prefix: string, rest: string) => boolean;
  /** Why the tag does not count if anything else is below it. */
  readonly why: string;
  /** The words before the tag may say that something is not done. */
  readonly openWork: boolean;
}

export interface Ending {
  readonly counts: boolean;
  readonly tag: Tag;
  /** Why it does not count. */
  readonly why: string | null;
  /** It resembles the tag, but is not exactly it. */
  readonly nearMiss: boolean;
}

/**
 * Judges whether a cleaned text ends with the promise: the last meaningful line is the tag, with nothing but decoration
 * around it or the end of a sentence before it. Returns null if there is no tag, nor anything like one.
 */
export const judgeEnding = (text: string, sought: Sought, allowed: Allowed): Ending | null => {
  const exact = lastTag(text, sought);
  const near = lastNearMiss(text, sought);
  const nearMiss = near !== null && near.tag.start > (exact?.start ?? -1);
  const tag = nearMiss ? near.tag : exact;
  if (tag === null) return null;
  const why = whyNot(text, tag, allowed) ?? (nearMiss ? near.why : null);
  return { counts: why === null, tag, why, nearMiss };
};

/**
 * Returns the end of the text up to and including the tag. The record has less of it: it is redacted before it is cut.
 */
export const wordsUpTo = (text: string, { end }: Pick<Tag, 'end'>): string =>
  text.slice(Math.max(0, end - maxWordsLength), end).trim();

/** Returns why a tag only mentions the promise; null if it is the promise. */
export const whyNot = (text: string, tag: Tag, allowed: Allowed): string | null => {
  const lineStart = text.lastIndexOf('\n', tag.start - 1) + 1;
  const [rest = '', ...behind] = text.slice(tag.end).split('\n');
  const [prefix, restOfLine] = unwrapped(text.slice(Math.max(lineStart, tag.start - reach), tag.start), rest);
  const above = text.slice(0, lineStart).split('\n').slice(0, -1);
  const words = behind.findIndex((line) => !saysNothing(line));
  // A fence before further words may open a new block.
  const silence = words === -1 ? behind : openFences(above) === 0 ? [] : behind.slice(0, words);
  const fences = silence.filter((line) => fenceIn(line) !== null).length;
  return (
    whyNotOnItsLine(prefix, restOfLine, allowed) ??
    (allowed.below(behind.filter((line) => !saysNothing(line))) ? null : allowed.why) ??
    whyNotInCode(above, prefix, fences) ??
    (isInComment(text, tag) ? 'it was in a comment' : null) ??
    whyNotAbove(above, prefix, allowed)
  );
};

/** The words on the tag's line take precedence over the lines above, unless they are only a label. */
const whyNotAbove = (above: readonly string[], prefix: string, { openWork }: Allowed): string | null => {
  const position = positionInLine(prefix);
  if (position !== 'alone' && position !== 'after label') return null;
  return (position === 'alone' ? whyAnnounced(above, prefix) : null) ?? (openWork ? null : whyOpen(above));
};

/** How many characters before the tag are looked at. */
const reach = 1000;

/** Only lines without meaning may follow. */
export const tagOnly: Allowed = {
  below: (lines) => lines.length === 0,
  onItsLine: () => false,
  why: 'the agent had more to say after it',
  openWork: false,
};

const whyNotOnItsLine = (prefix: string, rest: string, allowed: Allowed): string | null => {
  const position = positionInLine(prefix);
  if (position === 'undone' || undone.test(rest)) return 'it was marked as not done';
  if (position === 'not done' && !allowed.openWork) return somethingOpen;
  if (position === 'sentence')
    return /`\s*$/.test(prefix) && !/`.*`/.test(prefix) ? 'it was quoted as code' : inSentence;
  const isDecoration = decorationBehind.test(rest) && !/\.{2}/.test(rest);
  return isDecoration || allowed.onItsLine(prefix, rest) ? null : 'there was more text after it on its line';
};

const inSentence = 'it was in the middle of a sentence';

/** An HTML comment that is never closed ends with its paragraph. */
const isInComment = (text: string, { start, end }: Tag): boolean => {
  const before = text.slice(0, start);
  const opener = before.lastIndexOf('<!--');
  if (opener === -1 || before.includes('-->', opener) || before[opener - 1] === '`') return false;
  return text.includes('-->', end) || !/\n\s*\n/.test(before.slice(opener));
};

/** A shorter text is complete; a longer one may be only the end of the output. */
const completeBelow = 4000;

const lengthOf = (lines: readonly string[]): number => lines.reduce((length, line) => length + line.length + 1, 0);

/** A fence is decoration if it is closed and contains only the tag. */
const whyNotInCode = (above: readonly string[], prefix: string, fencesBehind: number): string | null => {
  const inCode = 'it was quoted as code';
  const last = above.findLastIndex((line) => line.trim() !== '');
  const opener = last === -1 ? null : fenceIn(above[last]!);
  const paragraph = above.slice(above.findLastIndex((line) => line.trim() === '') + 1);
  if (fencesBehind > 1) return inCode;
  // The fence closes nothing, unless its opener is too far above to be seen.
  const hasTildes = above.some((line) => fenceIn(line)?.char === '~');
  if (fencesBehind === 1 && openFences(above) === 0 && !hasTildes && lengthOf(above) < completeBelow) return null;
  if (fencesBehind === 1)
    return opener !== null && positionInLine(prefix) === 'alone' && openFences(paragraph) <= 1 ? null : inCode;
  // A fence that is never closed is a mistake, or the output of a tool: it ends with its paragraph.
  return openFences(paragraph) > 0 && openFences(above) > 0 ? inCode : null;
};
