import { blankBlocks, blocksIn, type HandoverBlock } from '../handover/blocks.ts';
import { cleanText } from './clean.ts';
import { saysNothing } from './tag-position.ts';
import { type Ending, judgeEnding, type Allowed, tagOnly, whyNot, wordsUpTo } from './judge-ending.ts';
import { type Mention, type Tag, type TagName, tagPattern } from './tags.ts';
import type { Tail } from './tail.ts';

export interface Promises {
  readonly completionPromise: string;
  readonly blockedPromise: string;
  /** `promise` if it is missing. */
  readonly tagName?: TagName;
}

/** How one kind of output is interpreted. */
export interface Reading {
  /** The tag and the words before it repeat the prompt. */
  readonly isEcho: (text: string, tag: Tag) => boolean;
  /** A line that the agent CLI itself prints after the agent's message. */
  readonly isTrailer: (line: string) => boolean;
  /** Advice for a line that may be from the CLI rather than the agent; null if that is impossible. */
  readonly hint: string | null;
}

export const maxMentions = 10;

export interface Finding {
  /** The message ends with the completion promise, or did before the agent gave up. */
  readonly found: boolean;
  /** The text up to the promise. */
  readonly evidence: string | null;
  /** Why the agent gave up; null if it did not. */
  readonly blocked: string | null;
  readonly mentions: readonly Mention[];
}

/** Judges a message by its end and its last tags. */
export const findIn = (tail: Tail, promises: Promises, reading: Reading): Finding => {
  if (tail.text === '') return { found: false, evidence: null, blocked: null, mentions: [] };
  // Cleaned in two parts, to know where the part that was not scanned yet begins.
  const context = cleanText(tail.text.slice(0, tail.scannedUpTo));
  const text = context + cleanText(tail.text.slice(tail.scannedUpTo));
  const blocks = blocksIn(text);
  const endings = endingsOf(blankBlocks(text), blocks, { promises, reading });
  const { done, gaveUp } = endings;
  const tags = tagsFrom(text, context.length, promises).slice(-maxMentions);
  const nearMisses = Object.values(endings).flatMap((ending) => (ending?.nearMiss ? [ending.tag] : []));
  return {
    found: done?.counts ?? false,
    evidence: done?.counts ? wordsUpTo(text, done.tag) : null,
    blocked: gaveUp?.counts ? reasonAt(blankBlocks(text), gaveUp.tag, { promises, reading }) : null,
    mentions: [
      ...tail.earlier.flatMap((tag) => mentionBefore(tag, reading)),
      ...[...tags, ...nearMisses].flatMap((tag) => {
        const ending = Object.values(endings).find((one) => one?.tag.start === tag.start);
        const inNotes = blocks.some(({ start, end }) => start <= tag.start && tag.start < end);
        return ending?.counts
          ? []
          : mentionOf(text, tag, { reading, why: inNotes ? inHandover : (ending?.why ?? null) });
      }),
    ],
  };
};

type Endings = Readonly<Record<'done' | 'gaveUp', Ending | null>>;

/**
 * An agent that prints both promises gave up: the completion promise may then come before the other. The text has blanks
 * in place of handover notes. A completion promise before them is not the end of the message.
 */
const endingsOf = (
  text: string,
  blocks: readonly HandoverBlock[],
  { promises, reading }: { promises: Promises; reading: Reading },
): Endings => {
  const { completionPromise, blockedPromise, tagName = 'promise' } = promises;
  const judge = (upTo: number, promise: string, allowed: Allowed): Ending | null => {
    const ending = judgeEnding(text.slice(0, upTo), { text: promise, tagName }, allowed);
    return ending?.counts && reading.isEcho(text, ending.tag)
      ? { ...ending, counts: false, why: repeatsPrompt }
      : ending;
  };
  const onlyTrailers: Allowed = {
    ...tagOnly,
    below: (lines) => lines.every(reading.isTrailer),
    why: reading.hint === null ? tagOnly.why : `${tagOnly.why} (${reading.hint})`,
  };
  const judgeDone = (upTo: number): Ending | null => {
    const ending = judge(upTo, completionPromise, onlyTrailers);
    const isLast = !blocks.some(({ start, end }) => ending !== null && start > ending.tag.start && end <= upTo);
    return ending?.counts && !isLast ? { ...ending, counts: false, why: beforeHandover } : ending;
  };
  const gaveUp = judge(text.length, blockedPromise, isReason);
  const done = judgeDone(text.length);
  if (!gaveUp?.counts || done?.counts) return { done, gaveUp };
  return { done: judgeDone(gaveUp.tag.start), gaveUp };
};

const repeatsPrompt = 'it repeats the prompt';
const inHandover = 'it was in the handover notes';
const beforeHandover = 'the handover notes came after it, and the promise must be the last line';

/** A longer text is not a reason, but further work. */
const maxReasonLength = 4000;

/** Words that continue a sentence which contains the tag. */
const continuesSentence =
  /^(?:and|as|but|can|cannot|could|does|if|is|may|might|only|or|should|though|unless|until|was|when|will|would|yet)\b/;

const isReason: Allowed = {
  ...tagOnly,
  openWork: true,
  below: (lines) => lines.join('\n').length <= maxReasonLength && !continuesSentence.test(lines[0]?.trim() ?? ''),
  onItsLine(prefix, rest) {
    // A list item explains what the tag is for.
    if (/^\s*(?:[-*+•]|\d+[.)])\s/.test(prefix)) return false;
    const reason = afterColon.exec(rest)?.[1];
    return reason !== undefined && reason.length <= maxReasonLength && !continuesSentence.test(reason);
  },
};

/** A reason on the line of the tag: ": no key", " — no key". */
const afterColon = /^[\s*_`]*(?:[:：–—]|-+\s)[\s*_`]*([\p{L}\p{N}"'(].*)$/u;

const eitherTag = ({ completionPromise, blockedPromise, tagName = 'promise' }: Promises): RegExp =>
  tagPattern([completionPromise, blockedPromise], tagName);

const tagsFrom = (text: string, start: number, promises: Promises): Tag[] =>
  [...text.slice(start).matchAll(eitherTag(promises))].map(({ index, 0: tag }) => ({
    start: start + index,
    end: start + index + tag.length,
  }));

const mentionBefore = ({ text, words, start, end }: Tail['earlier'][number], reading: Reading): Mention[] => {
  const before = cleanText(text.slice(0, start));
  const upTo = before + cleanText(text.slice(start, end));
  const whole = upTo + cleanText(text.slice(end));
  const mentions = mentionOf(whole, { start: before.length, end: upTo.length }, { reading, why: null });
  return mentions.map((mention) => ({ ...mention, words: cleanText(words).trim() }));
};

/** An echo of the prompt at the start of the output is not a mention. */
const mentionOf = (text: string, tag: Tag, { reading, why }: { reading: Reading; why: string | null }): Mention[] => {
  const words = wordsUpTo(text, tag);
  if (!reading.isEcho(text, tag))
    return [{ words, why: why ?? whyNot(text, tag, tagOnly) ?? 'the agent had more to say after it' }];
  return text.slice(tag.end).split('\n').every(saysNothing) ? [{ words, why: repeatsPrompt }] : [];
};

/** Returns the first line after the tag, or else the last line before it. */
const reasonAt = (
  text: string,
  { start, end }: Tag,
  { promises, reading }: { promises: Promises; reading: Reading },
) => {
  const meaningfulLines = (part: string): string[] =>
    part
      .replaceAll(eitherTag(promises), '')
      .split('\n')
      .map((line) => line.trim())
      // Fences and rules have no words.
      .filter((line) => /[\p{L}\p{N}]/u.test(line) && !reading.isTrailer(line));
  const reason =
    meaningfulLines(text.slice(end).replace(/^[\s*_`]*[:：–—-]\s*/, ''))[0] ??
    meaningfulLines(text.slice(0, start)).at(-1);
  return reason?.replace(/^\W*(?:reason|blocked)\W*:\W*/i, '') || 'it gave no reason';
};
