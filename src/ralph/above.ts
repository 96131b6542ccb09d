import { marksBefore, saysNothing, separatorsBehind } from './marks.ts';
import { fenceIn, openFences } from './fences.ts';
import { isPutOff, lastSentence, leadsUp } from './lead-in.ts';
import { plainWords, saysNotDone, statesDone } from './statement.ts';

/** Why the lines above make a tag that is alone on its line a part of what they say; null when they do not. */
export const whyNotBelow = (above: readonly string[], prefix: string): string | null => {
  const last = above.findLastIndex((line) => !saysNothing(line));
  if (last === -1) return null;
  const words = above.slice(0, last + 1);
  if (isListItem(prefix) && isListItem(words.at(-1)!) && isPlan(words, prefix)) return 'it was in a list of steps';
  if (endsInCode(above, last)) return null;
  if (blockAbove(words).some((line) => openBox.test(line))) return 'there are open boxes right above it';
  const listed = startsBlock(words.at(-1)!);
  const apart = above.slice(last + 1).some((line) => line.trim() === '');
  const sentence = sentenceAbove(words);
  if (leadsUp(sentence, { listed, apart })) return 'it was announced, not stated';
  return saysNotDone(plainWords(sentence)) ? somethingOpen : null;
};

export const somethingOpen = 'the words before it say that something is not done';

/** One with a star behind it is optional. */
const openBox = /^[\s>]*(?:[-*+•]|\d+[.)])\s+\[ ?\](?!\*)/;

/** The lines without a blank one between them that end here. */
const blockAbove = (lines: readonly string[]): readonly string[] =>
  lines.slice(lines.findLastIndex((line) => line.trim() === '') + 1);

/** The last words are those of a block of code that was closed behind them. */
const endsInCode = (above: readonly string[], last: number): boolean => {
  const fence = fenceIn(above.slice(last + 1).find((line) => line.trim() !== '') ?? '');
  return fence !== null && !fence.named && openFences(above) === 0;
};

const isListItem = (line: string): boolean => listMark.test(withoutQuote(line));

/** The tag is the last of several steps: numbered, unless all of them are done, or under a line that speaks of what is to do. */
const isPlan = (above: readonly string[], prefix: string): boolean => {
  if (/^\s*(?:[2-9]|\d\d+)[.)]\s/.test(withoutQuote(prefix)))
    return !blockAbove(above).filter(isListItem).every(isReport);
  const title = above.findLast((line) => line.trim() !== '' && !isListItem(line) && !/^\s/.test(line));
  return title !== undefined && /[:：]\W*$|^\s*#|^\s*(\*\*|__).*\1\s*$/.test(title) && isPutOff(title);
};

/** An item that says what was done: "Implemented A.", "All tests pass." */
const isReport = (item: string): boolean => {
  const words = plainWords(withoutQuote(item).replace(listMark, '')).replace(/[.!\s]+$/, '');
  return /^(?:built|did|made|ran|rewrote|wrote|(?!need)\p{L}+ed)\b/iu.test(words) || statesDone(words);
};

const listMark = /^\s*(?:[-*+•]|\d+[.)])\s+/;

const withoutQuote = (line: string): string => line.replace(/^\s*(?:>\s?)+/, '');

/** Where a sentence cannot have begun on the line before: lists, headings, rows of tables. */
const startsBlock = (line: string): boolean => /^[\s>]*(?:[-*+•]\s|\d+[.)]\s|#{1,6}\s|\|)/.test(line);

/** The last sentence of these lines, which may have begun some lines above, and never before another tag. */
const sentenceAbove = (lines: readonly string[]): string => {
  const near = lines.slice(-longestSentence).map((line) => line.slice(-reach));
  const paragraph = near.slice(near.findLastIndex(saysNothing) + 1);
  const [first, ...others] = paragraph.slice(Math.max(0, paragraph.findLastIndex(startsBlock)));
  const words = [first!.replace(marksBefore, ''), ...others.map((line) => line.replace(/^[\s>]+/, ''))].join(' ');
  const behindTag = words.split('</promise>').at(-1)!;
  return lastSentence(behindTag.slice(-reach).replace(separatorsBehind, ''));
};

/** In lines, and in characters. */
const longestSentence = 10;
const reach = 1000;
