import { fenceIn } from './fences.ts';
import {
  declares,
  declaresDone,
  declaresTheEnd,
  endsSentence,
  introduces,
  isPutOff,
  lastSentence,
  leadsUp,
} from './lead-in.ts';
import { isDoneWord, plainWords, saysNotDone, statesDone } from './statement.ts';

/** Classifies the position of a tag by the text before it on its line. */
export const positionInLine = (
  prefix: string,
): 'alone' | 'after words' | 'after label' | 'undone' | 'not done' | 'sentence' => {
  if (undone.test(prefix)) return 'undone';
  // Without a space it is a line of a diff.
  if (/^\s*[-+]$/.test(prefix)) return 'sentence';
  const words = prefix.replace(marksBefore, '').replace(separatorsBehind, '');
  if (words === '') return 'alone';
  if (endsSentence(words)) return positionAfterSentence(lastSentence(words));
  if (/[:：]$/.test(words.replace(/(?<![*_])[*_]+$/, ''))) return positionAfterColon(words);
  if (wholeInBold.test(prefix)) return declaresTheEnd(words) ? 'after words' : 'sentence';
  if (/[,;]$/.test(words)) return declaresDone(words.slice(0, -1)) ? 'after words' : 'sentence';
  // One word and an arrow name a case, as in "success → …", unless it says that all is done.
  if (behindArrow.test(prefix) && !/\S\s+\S/.test(words)) return isDoneWord(words) ? 'after words' : 'sentence';
  return separated.test(prefix) && declares(words) ? 'after words' : 'sentence';
};

const positionAfterSentence = (sentence: string): 'after words' | 'not done' | 'sentence' => {
  if (leadsUp(sentence)) return 'sentence';
  return saysNotDone(plainWords(sentence)) ? 'not done' : 'after words';
};

const positionAfterColon = (words: string): 'after words' | 'after label' | 'sentence' => {
  if (!introduces(words)) return 'sentence';
  return statesDone(plainWords(words).replace(/(?<![\s:：])[\s:：]+$/, '')) ? 'after words' : 'after label';
};

const wholeInBold = /^[\s>#•-]*(\*\*|__)(?!\s)(?:(?!\1).)+\1\s+[*_`]*$/u;

/** An open box, strikethrough, a cross, or a sign for waiting or failure. */
export const undone = /\[ \]|~~|[❌❎✖✗✘🚫⛔🛑⚠⏳⌛🔜🚧❓❔🤔🔴👎]/u;

const emoji = String.raw`\p{So}\p{Emoji_Modifier}\u200d\ufe0f\u20e3`;
/** End-of-text tokens that some local models print. */
const endMarks = String.raw`<\|\w+\|>|</s>`;
/** HTML tags, and tags in which models wrap an answer, that do not change the meaning of their content. */
const forms = '(?:p|div|span|center|b|strong|i|em|code|answer|final|final_answer|output|response|result)';
const arrows = String.raw`\u2190-\u21ff\u27f0-\u27ff\u2900-\u297f`;

/** Markdown at the start of a line, and decoration: emphasis, code marks, emoji, arrows, dashes. */
export const marksBefore = new RegExp(
  String.raw`^(?:\s|>|#{1,6}(?=\s)|[-+•](?=\s)|\d+[.)](?=\s)|\[[xX✓✔]\]|<br ?/?>|<${forms}>|[-=]+>|[–—]|--+|==+|[*_\x60]|[${emoji}${arrows}])+`,
  'u',
);
export const separatorsBehind = new RegExp(
  String.raw`(?:\s|<br ?/?>|<${forms}>|(?<![-=])[-=]+>|[–—]|\s--?(?=\s)|[*_\x60]|[${emoji}${arrows}]){1,200}$`,
  'u',
);
const behindArrow = new RegExp(String.raw`(?:(?<![-=])[-=]+>|[${arrows}])[\s*_\x60]*$`, 'u');
/** More than spaces and emphasis between the words and the tag. */
const separated = new RegExp(String.raw`(?:(?<![-=])[-=]+>|[–—]|\s--?\s|[${emoji}${arrows}])[\s*_\x60]*$`, 'u');

export const decorationBehind = new RegExp(
  String.raw`^(?:\s|[*_\x60#.!;。！．｡|–—=-]|<br ?/?>|</${forms}>|${endMarks}|[${emoji}${arrows}])*$`,
  'u',
);

/** Returns the text before and after a tag, without brackets or quotes that enclose only the tag. */
export const unwrapped = (prefix: string, rest: string): readonly [prefix: string, rest: string] => {
  const before = prefix.trimEnd();
  const opener = before.at(-1) ?? '';
  const wrapped = brackets.get(opener)?.includes(rest.trimStart()[0] ?? ' ') && /^[\s>*_-]*$/.test(before.slice(0, -1));
  return wrapped ? [before.slice(0, -1), rest.trimStart().slice(1)] : [prefix, rest];
};

/** Opening characters, and those that may close them. */
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

/** A line without meaning: blank, a rule, a fence, a comment of a few words, or only decoration. */
export const saysNothing = (line: string): boolean =>
  fenceIn(line) !== null || isBareComment(line) || (silent.test(line) && !undone.test(line) && !/\.{2}/.test(line));

const isBareComment = (line: string): boolean => /^\s*<!--\s*(?:[\w.-]+\s+){0,3}-->\s*$/.test(line) && !isPutOff(line);

const silent = new RegExp(
  String.raw`^(?:\s|[*_~#.!。！．｡>|$›+–—=-]|<br ?/?>|<hr ?/?>|</?${forms}>|${endMarks}|[${emoji}${arrows}])*$`,
  'u',
);
