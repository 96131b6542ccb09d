import { marksBefore, saysNothing, separatorsBehind } from './marks.ts';
import { fenceIn, openFences } from './fences.ts';
import { isPutOff, lastSentence, leadsUp } from './lead-in.ts';
import { plainWords, saysNotDone, statesDone, titlesOpenWork } from './statement.ts';

/** Why the lines above make a tag that is alone on its line a part of what they say; null when they do not. */
export const whyAnnounced = (above: readonly string[], prefix: string): string | null => {
  const words = upToLastWords(above);
  if (words.length === 0) return null;
  if (isListItem(prefix) && isListItem(words.at(-1)!) && isPlan(words, prefix)) return 'it was in a list of steps';
  if (endsInCode(above, words.length - 1)) return null;
  const listed = startsBlock(words.at(-1)!);
  const apart = above.slice(words.length).some((line) => line.trim() === '');
  return leadsUp(sentenceAbove(words), { listed, apart }) ? 'it was announced, not stated' : null;
};

/** Why the lines above say that something is not done; null when they do not. */
export const whyOpen = (above: readonly string[]): string | null => {
  const words = upToLastWords(above);
  if (words.length === 0 || endsInCode(above, words.length - 1)) return null;
  if (blockAbove(words).some((line) => openBox.test(line))) return 'there are open boxes right above it';
  return listsOpenWork(words) || saysNotDone(plainWords(sentenceAbove(words))) ? somethingOpen : null;
};

export const somethingOpen = 'the words before it say that something is not done';

const upToLastWords = (lines: readonly string[]): readonly string[] =>
  lines.slice(0, lines.findLastIndex((line) => !saysNothing(line)) + 1);

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
  const title = above[titleAt(above)];
  return title !== undefined && isTitle(title) && isPutOff(title);
};

/** It ends with a colon, or is a heading, or all in bold. */
const isTitle = (line: string): boolean => {
  const text = line.trim();
  const inBold = ['**', '__'].some((mark) => text.length >= 4 && text.startsWith(mark) && text.endsWith(mark));
  return inBold || text.startsWith('#') || /[:：]/.test(/(?<!\W)\W+$/.exec(text)?.[0] ?? '');
};

/** Where the title of a list that ends with these lines is; -1 when it has none. */
const titleAt = (lines: readonly string[]): number =>
  lines.findLastIndex((line) => line.trim() !== '' && !isListItem(line) && !/^\s/.test(line));

/** The last lines are a list of what is not done. */
const listsOpenWork = (lines: readonly string[]): boolean => {
  const at = titleAt(lines);
  if (at === -1 || !titlesOpenWork(lines[at]!.replace(marksBefore, ''))) return false;
  return lines.slice(at + 1).some((line) => isListItem(line) && !isSettled.test(line));
};

/** Ticked, struck through, or an item that says that there is none. */
const isSettled =
  /^[\s>]*(?:[-*+•]|\d+[.)])\s\W*(?:none|nothing|n\/a|no (?:further|more|open|remaining))\b|\[x\]|~~|[✅✓✔]/i;

/** An item that says what was done: "Implemented A.", "All tests pass." */
const isReport = (item: string): boolean => {
  const words = plainWords(withoutQuote(item).replace(listMark, '')).replace(/(?<![.!\s])[.!\s]+$/, '');
  return /^(?:built|did|made|ran|rewrote|wrote|(?!need)\p{L}+ed)\b/iu.test(words) || statesDone(words);
};

const listMark = /^\s*(?:[-*+•]|\d+[.)])\s+/;

const withoutQuote = (line: string): string => line.replace(/^\s*(?:>\s?)+/, '');

/** Where a sentence cannot have begun on the line before: lists, headings, rows of tables, bold labels. */
const startsBlock = (line: string): boolean =>
  /^[\s>]*(?:[-*+•]\s|\d+[.)]\s|#{1,6}\s|\||\*\*[^*:：]+(?:[:：]\*\*|\*\*\s?[:：]))/.test(line);

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
