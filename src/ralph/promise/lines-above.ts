import { marksBefore, saysNothing, separatorsBehind } from './tag-position.ts';
import { fenceIn, openFences } from './fences.ts';
import { isPutOff, lastSentence, leadsUp } from './lead-in.ts';
import { endsInOpenState, plainWords, saysNotDone, statesDone, titlesOpenWork } from './statement.ts';

/** Returns why a tag alone on its line belongs to the sentence or list above it; null if it does not. */
export const whyAnnounced = (above: readonly string[], prefix: string): string | null => {
  const words = upToLastWords(above);
  if (words.length === 0) return null;
  if (isListItem(prefix) && isListItem(words.at(-1)!) && isPlan(words, prefix)) return 'it was in a list of steps';
  if (endsInCode(above, words.length - 1)) return null;
  const listed = startsBlock(words.at(-1)!);
  const separated = above.slice(words.length).some((line) => line.trim() === '');
  return leadsUp(sentenceAbove(words), { listed, separated }) ? 'it was announced, not stated' : null;
};

/** Returns how the lines above say that something is not done; null if they do not. */
export const whyOpen = (above: readonly string[]): string | null => {
  const words = upToLastWords(above);
  if (words.length === 0 || endsInCode(above, words.length - 1)) return null;
  const block = blockAbove(words);
  if (block.some((line) => openBox.test(line))) return 'there are open boxes right above it';
  if (block.some((line, index) => isOpenItem(line) && !isTableRule(block[index + 1]))) return somethingOpen;
  return listsOpenWork(words) || saysNotDone(plainWords(sentenceAbove(words))) ? somethingOpen : null;
};

export const somethingOpen = 'the words before it say that something is not done';

const upToLastWords = (lines: readonly string[]): readonly string[] =>
  lines.slice(0, lines.findLastIndex((line) => !saysNothing(line)) + 1);

/** A box that is not ticked, or ticked in part. One that is followed by a star is optional. */
const openBox = /^[\s>]*(?:[-*+•]|\d+[.)])\s+\[[ ~/>!?.-]?\](?!\*)/;

/** A line with a sign for failure or waiting, or a list item or table row that ends with such a state. */
const isOpenItem = (line: string): boolean =>
  (openSign.test(line) && !/[✅✓✔]/.test(line)) || (startsRow.test(line) && endsInOpenState(line));

/** The line below the header of a table. */
const isTableRule = (line = ''): boolean => /^[\s>]*\|[\s|:-]*$/.test(line);

const openSign = /^[\s>]*(?:(?:[-*+•]|\d+[.)])\s+)?[*_]*[❌✖✗✘⏳⌛🔜🚧⬜☐🔴]/u;
const startsRow = /^[\s>]*(?:[-*+•]\s|\d+[.)]\s|\|)/;

/** The last lines without a blank line between them. */
const blockAbove = (lines: readonly string[]): readonly string[] =>
  lines.slice(lines.findLastIndex((line) => line.trim() === '') + 1);

/** The last words are in a closed code block. */
const endsInCode = (above: readonly string[], last: number): boolean => {
  const fence = fenceIn(above.slice(last + 1).find((line) => line.trim() !== '') ?? '');
  return fence !== null && !fence.named && openFences(above) === 0;
};

const isListItem = (line: string): boolean => listMark.test(withoutQuote(line));

/** The tag is the last of several steps: numbered ones that are not all done, or under a title about open work. */
const isPlan = (above: readonly string[], prefix: string): boolean => {
  if (/^\s*(?:[2-9]|\d\d+)[.)]\s/.test(withoutQuote(prefix)))
    return !blockAbove(above).filter(isListItem).every(isReport);
  const title = above[titleAt(above)];
  return title !== undefined && isTitle(title) && isPutOff(title);
};

/** A line that ends with a colon, a heading, or a line in bold. */
const isTitle = (line: string): boolean => {
  const text = line.trim();
  const inBold = ['**', '__'].some((mark) => text.length >= 4 && text.startsWith(mark) && text.endsWith(mark));
  return inBold || text.startsWith('#') || /[:：]/.test(/(?<!\W)\W+$/.exec(text)?.[0] ?? '');
};

/** Returns the index of the title of the list that ends with these lines; -1 if it has none. */
const titleAt = (lines: readonly string[]): number =>
  lines.findLastIndex((line) => line.trim() !== '' && !isListItem(line) && !/^\s/.test(line));

/** The last lines are a list of open work. */
const listsOpenWork = (lines: readonly string[]): boolean => {
  const at = titleAt(lines);
  if (at === -1 || !titlesOpenWork(lines[at]!.replace(marksBefore, ''))) return false;
  return lines.slice(at + 1).some((line) => isListItem(line) && !isClosedItem.test(line));
};

/** An item that is ticked, struck through, or says that there is nothing. */
const isClosedItem =
  /^[\s>]*(?:[-*+•]|\d+[.)])\s\W*(?:none|nothing|n\/a|no (?:further|more|open|remaining))\b|\[x\]|~~|[✅✓✔]/i;

/** An item that says what was done: "Implemented A.", "All tests pass." */
const isReport = (item: string): boolean => {
  const words = plainWords(withoutQuote(item).replace(listMark, '')).replace(/(?<![.!\s])[.!\s]+$/, '');
  return /^(?:built|did|made|ran|rewrote|wrote|(?!need)\p{L}+ed)\b/iu.test(words) || statesDone(words);
};

const listMark = /^\s*(?:[-*+•]|\d+[.)])\s+/;

const withoutQuote = (line: string): string => line.replace(/^\s*(?:>\s?)+/, '');

/** The line cannot continue a sentence of the line before: lists, headings, table rows, bold labels. */
const startsBlock = (line: string): boolean =>
  /^[\s>]*(?:[-*+•]\s|\d+[.)]\s|#{1,6}\s|\||\*\*[^*:：]+(?:[:：]\*\*|\*\*\s?[:：]))/.test(line);

/** Returns the last sentence of these lines. It may span several lines, but does not extend beyond another tag. */
const sentenceAbove = (lines: readonly string[]): string => {
  const near = lines.slice(-maxSentenceLines).map((line) => line.slice(-reach));
  const paragraph = near.slice(near.findLastIndex(saysNothing) + 1);
  const [first, ...others] = paragraph.slice(Math.max(0, paragraph.findLastIndex(startsBlock)));
  const words = [first!.replace(marksBefore, ''), ...others.map((line) => line.replace(/^[\s>]+/, ''))].join(' ');
  const afterTag = words.split(/<\/(?:promise|verdict)>/).at(-1)!;
  return lastSentence(afterTag.slice(-reach).replace(separatorsBehind, ''));
};

const maxSentenceLines = 10;
/** How many characters back are looked at. */
const reach = 1000;
