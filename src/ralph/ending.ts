import { somethingOpen, whyAnnounced, whyOpen } from './above.ts';
import { decorationBehind, placeInLine, saysNothing, undone, unwrapped } from './marks.ts';
import { fenceIn, openFences } from './fences.ts';
import { lastNearMiss, lastTag, type Tag } from './promise.ts';

/** What may stand around a tag, beside decoration and lines that say nothing. */
export interface Allowed {
  /** What may stand on the lines below. */
  readonly below: (lines: readonly string[]) => boolean;
  /** What may stand on its line. */
  readonly onItsLine: (prefix: string, rest: string) => boolean;
  /** Why it does not count when anything else is below it. */
  readonly why: string;
  /** The words before it may say that something is not done. */
  readonly openWork: boolean;
}

export interface Ending {
  readonly counts: boolean;
  readonly tag: Tag;
  /** The words up to the tag, and the tag. */
  readonly evidence: string;
  /** Why it does not count. */
  readonly why: string | null;
  /** It is not quite the tag. */
  readonly nearMiss: boolean;
}

/**
 * Whether a text, already cleaned, ends with the promise: the last line that says anything is the tag, with nothing but
 * decoration around it or the end of a sentence before it. null when there is no tag, nor anything like one.
 */
export const judgeEnding = (text: string, promise: string, allowed: Allowed): Ending | null => {
  const exact = lastTag(text, promise);
  const near = lastNearMiss(text, promise);
  const nearMiss = near !== null && near.tag.start > (exact?.start ?? -1);
  const tag = nearMiss ? near.tag : exact;
  if (tag === null) return null;
  const why = whyNot(text, tag, allowed) ?? (nearMiss ? near.why : null);
  return { counts: why === null, tag, evidence: wordsUpTo(text, tag), why, nearMiss };
};

/** How much of the text up to a tag is kept with it. */
const wordsKept = 300;

export const wordsUpTo = (text: string, { end }: Tag): string => text.slice(Math.max(0, end - wordsKept), end).trim();

/** Why a tag is talk about the promise; null when it is the promise. */
export const whyNot = (text: string, tag: Tag, allowed: Allowed): string | null => {
  const lineStart = text.lastIndexOf('\n', tag.start - 1) + 1;
  const [rest = '', ...behind] = text.slice(tag.end).split('\n');
  const [prefix, restOfLine] = unwrapped(text.slice(Math.max(lineStart, tag.start - reach), tag.start), rest);
  const above = text.slice(0, lineStart).split('\n').slice(0, -1);
  const words = behind.findIndex((line) => !saysNothing(line));
  // Before words, a fence may open a block of its own.
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

/** What stands on the line of a tag weighs more than the lines above, unless it is a mere label. */
const whyNotAbove = (above: readonly string[], prefix: string, { openWork }: Allowed): string | null => {
  const place = placeInLine(prefix);
  if (place !== 'alone' && place !== 'behind a label') return null;
  return (place === 'alone' ? whyAnnounced(above, prefix) : null) ?? (openWork ? null : whyOpen(above));
};

/** How far back words on the same line, or in the same paragraph, are looked at, in characters. */
const reach = 1000;

/** Nothing may follow but lines that say nothing. */
export const nothing: Allowed = {
  below: (lines) => lines.length === 0,
  onItsLine: () => false,
  why: 'the agent had more to say after it',
  openWork: false,
};

const whyNotOnItsLine = (prefix: string, rest: string, allowed: Allowed): string | null => {
  const lead = placeInLine(prefix);
  if (lead === 'undone' || undone.test(rest)) return 'it was marked as not done';
  if (lead === 'not done' && !allowed.openWork) return somethingOpen;
  if (lead === 'sentence') return /`\s*$/.test(prefix) && !/`.*`/.test(prefix) ? 'it was quoted as code' : inSentence;
  const isDecoration = decorationBehind.test(rest) && !/\.{2}/.test(rest);
  return isDecoration || allowed.onItsLine(prefix, rest) ? null : 'there was more behind it on its line';
};

const inSentence = 'it was in the middle of a sentence';

/** A comment of HTML that is never closed reaches no further than its paragraph. */
const isInComment = (text: string, { start, end }: Tag): boolean => {
  const before = text.slice(0, start);
  const opener = before.lastIndexOf('<!--');
  if (opener === -1 || before.includes('-->', opener) || before[opener - 1] === '`') return false;
  return text.includes('-->', end) || !/\n\s*\n/.test(before.slice(opener));
};

/** A text that is shorter, in characters, is not just the end of one. */
const wholeBelow = 4000;

const lengthOf = (lines: readonly string[]): number => lines.reduce((length, line) => length + line.length + 1, 0);

/** A fence is decoration when it is closed, and the tag is all that it holds. */
const whyNotInCode = (above: readonly string[], prefix: string, fencesBehind: number): string | null => {
  const inCode = 'it was quoted as code';
  const last = above.findLastIndex((line) => line.trim() !== '');
  const opener = last === -1 ? null : fenceIn(above[last]!);
  const paragraph = above.slice(above.findLastIndex((line) => line.trim() === '') + 1);
  if (fencesBehind > 1) return inCode;
  // One that closes nothing, unless what it closes may be too far above to be seen.
  const hasTildes = above.some((line) => fenceIn(line)?.char === '~');
  if (fencesBehind === 1 && openFences(above) === 0 && !hasTildes && lengthOf(above) < wholeBelow) return null;
  if (fencesBehind === 1)
    return opener !== null && placeInLine(prefix) === 'alone' && openFences(paragraph) <= 1 ? null : inCode;
  // A fence that is never closed is a slip, or the output of a tool: it reaches no further than its paragraph.
  return openFences(paragraph) > 0 && openFences(above) > 0 ? inCode : null;
};
