import type { DoneWork } from '../../ralph/loop-host.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { withoutControls } from '../../text/controls.ts';
import { fitting, widthOf } from '../../text/format.ts';

interface FinishedWork extends DoneWork {
  readonly iteration: number;
}

/**
 * Says on one line what an iteration has done: the tasks that it ticked, or the agent's last sentence about it.
 * Contains no secrets and no control characters, and does not start with a character that git or a shell treats
 * specially.
 */
export const commitSubject = (
  { ticked, lastWords, iteration }: FinishedWork,
  redactor: Pick<Redactor, 'endOf' | 'oneLine'>,
  columns: number,
): string => {
  const tasks = withoutFullStop(plain(withoutControls(ticked.map(withoutNumber).join('; '))));
  const text = tasks === '' ? lastSentence(redactor.endOf(lastWords, maxSearched)) : tasks;
  // Removing characters can join the parts of a secret, so it is redacted last.
  return cut(redactor.oneLine(text, maxLength), columns) || `iteration ${iteration}`;
};

/** Lists the tasks that an iteration ticked, one on each line; empty if there are none. */
export const commitTasks = (ticked: readonly string[], redactor: Pick<Redactor, 'oneLine'>): string =>
  ticked.map((title) => `- ${redactor.oneLine(plain(withoutControls(withoutNumber(title))), maxLength)}`).join('\n');

/** Returns the first heading of a proposal; empty if it has none. */
export const commitTitle = (proposal: string, redactor: Pick<Redactor, 'oneLine'>): string =>
  redactor.oneLine(plain(withoutControls(/^#[ \t]+(\S.*)/m.exec(proposal)?.[1] ?? '')), maxLength);

const maxSearched = 4000;
const maxLength = 400;

/** `2.1 Parser` → `Parser` */
const withoutNumber = (title: string): string =>
  title.replace(/^(?:\d{1,4}(?:\.\d{1,4}){1,5}[.):]?|\d{1,4}[.):])\s+/, '');

/** Returns an empty text if the message has no sentence. */
const lastSentence = (message: string): string => {
  const clean = withoutControls(message.replaceAll('\r', '\n')).replaceAll(promiseTag, '');
  const prose = withoutFences(clean.split('\n'));
  const sentences = prose.flatMap((line) => plain(line).split(sentenceEnd)).filter(saysSomething);
  return withoutFullStop(sentences.findLast((each) => !isRemark(each)) ?? sentences.at(-1) ?? '');
};

const promiseTag = /<promise>[^<]{0,400}<\/promise>/g;
const sentenceEnd = /(?<=[.!?])\s(?=[\p{Lu}\d"'`(])/u;

/** A heading of a list, a row of a table and a single word say nothing by themselves. */
const saysSomething = (line: string): boolean =>
  line.split(/\s+/).filter((word) => /\p{L}/u.test(word)).length > 1 && !/[:|]$/.test(line);

/**
 * `All tests pass.`, `Let me know …` and `The docs are next.` do not say what was done, so a sentence before them is
 * preferred.
 */
const isRemark = (sentence: string): boolean =>
  sentence.length <= maxRemark && (isResult(sentence) || announcement.test(sentence) || address.test(sentence));

const isResult = (sentence: string): boolean =>
  /^(?:all|the|both|every|everything|\d+)\b/i.test(sentence) &&
  /\b(?:pass|passes|passed|passing|green|done|complete|completed|finished)[.!]?$/i.test(sentence);

const announcement =
  /^(?:next|after that|afterwards|still|remaining|todo|to do|(?:what|all that) (?:remains|is left)|(?:(?:now|then),? )?(?:i will|i'll|i’ll|i am going to|i'm going to|i’m going to|we will|let me))\b|\b(?:is|are|comes?|follows?|remains?) (?:up )?next[.!]?$|\b(?:remains?|to do|to be done)[.!]?$/i;

const address = /^(?:feel free|please|ready|done)\b/i;

const maxRemark = 80;

const withoutFullStop = (text: string): string => text.replace(/(?<!\.)\.$/, '');

const withoutFences = (lines: readonly string[]): string[] => {
  let isInside = false;
  return lines.filter((line) => {
    const isFence = /^\s{0,10}(?:```|~~~)/.test(line);
    if (isFence) isInside = !isInside;
    return !isFence && !isInside;
  });
};

/** Removes Markdown, invisible characters, and marks at the start. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, (char) => (char === '\u200d' ? char : ''))
    .replaceAll(/\[([^[\]]{1,200})\]\([^()\s]{1,400}\)/g, '$1')
    .replaceAll(/\*\*|__/g, '')
    .replace(/^[^\p{L}\p{N}"'(`</.$@]+/u, '')
    .trimEnd();

const cut = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text;
  const chars = [...fitting(text, columns - 1)];
  // A character that was cut out of a sequence may be wider than the sequence.
  while (widthOf(`${chars.join('')}…`) > columns) chars.pop();
  const start = chars.join('');
  // Between two words, unless that loses too much.
  const space = start.lastIndexOf(' ');
  return `${(space > start.length / 2 ? start.slice(0, space) : start).trimEnd()}…`;
};
