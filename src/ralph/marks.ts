import { fenceIn } from './fences.ts';
import { declares, declaresTheEnd, endsSentence, introduces, isPutOff, lastSentence, leadsUp } from './lead-in.ts';
import { plainWords, saysNotDone, statesDone } from './statement.ts';

/** Where on its line a tag stands, from what stands before it. */
export const placeInLine = (
  prefix: string,
): 'alone' | 'behind words' | 'behind a label' | 'undone' | 'not done' | 'sentence' => {
  if (undone.test(prefix)) return 'undone';
  // Without a blank it is a line of a diff.
  if (/^\s*[-+]$/.test(prefix)) return 'sentence';
  const words = prefix.replace(marksBefore, '').replace(separatorsBehind, '');
  if (words === '') return 'alone';
  if (endsSentence(words)) return placeBehind(lastSentence(words));
  if (/[:：]$/.test(words.replace(/(?<![*_])[*_]+$/, ''))) return placeBehindColon(words);
  if (wholeInBold.test(prefix)) return declaresTheEnd(words) ? 'behind words' : 'sentence';
  // One word and an arrow name a case: "success → …".
  if (behindArrow.test(prefix) && !/\S\s+\S/.test(words)) return 'sentence';
  return separated.test(prefix) && declares(words) ? 'behind words' : 'sentence';
};

const placeBehind = (sentence: string): 'behind words' | 'not done' | 'sentence' => {
  if (leadsUp(sentence)) return 'sentence';
  return saysNotDone(plainWords(sentence)) ? 'not done' : 'behind words';
};

const placeBehindColon = (words: string): 'behind words' | 'behind a label' | 'sentence' => {
  if (!introduces(words)) return 'sentence';
  return statesDone(plainWords(words).replace(/(?<![\s:：])[\s:：]+$/, '')) ? 'behind words' : 'behind a label';
};

const wholeInBold = /^[\s>#•-]*(\*\*|__)(?!\s)(?:(?!\1).)+\1\s+[*_`]*$/u;

/** An open box, a cross, a sign that says wait, and what is struck through. */
export const undone = /\[ \]|~~|[❌❎✖✗✘🚫⛔🛑⚠⏳⌛🔜🚧❓❔🤔🔴👎]/u;

const emoji = String.raw`\p{So}\p{Emoji_Modifier}\u200d\ufe0f\u20e3`;
/** With which some local models end their answers. */
const endMarks = String.raw`<\|\w+\|>|</s>`;
/** Tags of HTML, and those in which models put an answer, that change nothing about what is in them. */
const forms = '(?:p|div|span|center|b|strong|i|em|code|answer|final|final_answer|output|response|result)';
const arrows = String.raw`\u2190-\u21ff\u27f0-\u27ff\u2900-\u297f`;

/** The marks of Markdown at the start of a line, and what decorates: emphasis, code marks, emoji, arrows, dashes. */
export const marksBefore = new RegExp(
  String.raw`^(?:\s|>|#{1,6}(?=\s)|[-+•](?=\s)|\d+[.)](?=\s)|\[[xX✓✔]\]|<br ?/?>|<${forms}>|[-=]+>|[–—]|--+|==+|[*_\x60]|[${emoji}${arrows}])+`,
  'u',
);
export const separatorsBehind = new RegExp(
  String.raw`(?:\s|<br ?/?>|<${forms}>|(?<![-=])[-=]+>|[–—]|\s--?(?=\s)|[*_\x60]|[${emoji}${arrows}]){1,200}$`,
  'u',
);
const behindArrow = new RegExp(String.raw`(?:(?<![-=])[-=]+>|[${arrows}])[\s*_\x60]*$`, 'u');
/** More than blanks and emphasis between the words and the tag. */
const separated = new RegExp(String.raw`(?:(?<![-=])[-=]+>|[–—]|\s--?\s|[${emoji}${arrows}])[\s*_\x60]*$`, 'u');

export const decorationBehind = new RegExp(
  String.raw`^(?:\s|[*_\x60#.!;。！．｡|–—=-]|<br ?/?>|</${forms}>|${endMarks}|[${emoji}${arrows}])*$`,
  'u',
);

/** What stands before and behind a tag, without the brackets or quotes in which it is alone on its line. */
export const unwrapped = (prefix: string, rest: string): readonly [prefix: string, rest: string] => {
  const before = prefix.trimEnd();
  const opener = before.at(-1) ?? '';
  const wrapped = brackets.get(opener)?.includes(rest.trimStart()[0] ?? ' ') && /^[\s>*_-]*$/.test(before.slice(0, -1));
  return wrapped ? [before.slice(0, -1), rest.trimStart().slice(1)] : [prefix, rest];
};

/** What opens, and what may close it. */
const brackets: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '(': ')',
    '[': ']',
    '"': '"',
    "'": "'",
    '“': '”',
    '‘': '’',
    '„': '“”',
    '«': '»',
    '（': '）',
    '「': '」',
  }),
);

/** Blank, a rule, a fence, a comment of a few words, or nothing but decoration. */
export const saysNothing = (line: string): boolean =>
  fenceIn(line) !== null || isBareComment(line) || (silent.test(line) && !undone.test(line) && !/\.{2}/.test(line));

const isBareComment = (line: string): boolean => /^\s*<!--\s*(?:[\w.-]+\s+){0,3}-->\s*$/.test(line) && !isPutOff(line);

const silent = new RegExp(
  String.raw`^(?:\s|[*_~#.!。！．｡>|$›+–—=-]|<br ?/?>|<hr ?/?>|</?${forms}>|${endMarks}|[${emoji}${arrows}])*$`,
  'u',
);
