/** Classifies statements about the work: all is done, something is not done, or only a part is. */

import { asksUser, isUnderWay, keepsWorking } from './busy.ts';
import { saysNotDoneElsewhere } from './languages.ts';

/** A word or two that say that all is done: "Done", "all finished". */
export const isDoneWord = (words: string): boolean => doneWord.test(words);

/** Removes emphasis and code marks, and normalises apostrophes and spaces. */
export const plainWords = (text: string): string =>
  text
    .replaceAll(/[*_`]+/g, '')
    .replaceAll('’', "'")
    .replaceAll(/\s+/g, ' ')
    .trim();

/** A statement that all is done, even if it mentions earlier problems: "Both failing tests are fixed". */
export const statesDone = (words: string): boolean => {
  const statement = words.replace(opening, '');
  if (nothingLeft.test(statement)) return true;
  return (doneAtEnd.test(statement) || didIt.test(statement)) && !qualifies(statement) && !/[:：]/.test(statement);
};

/** Restricts the statement to a part of the work, a condition or the future. */
export const qualifies = (words: string): boolean => qualifying.test(words) || noneOfIt.test(words) || isPart(words);

/** Says that something is not done or still in progress, or answers "no". */
export const saysNotDone = (words: string): boolean => {
  const sentence = words.replace(/(?<![.!…])[.!…]+$/, '');
  if (nothingLeft.test(sentence) || noneAtAll.test(sentence)) return false;
  if (openAlone.test(sentence) || asksUser(sentence)) return true;
  if (keepsWorking(sentence) && !statesDone(sentence)) return true;
  return (
    !ofThePast.test(sentence) &&
    (isPart(sentence) ||
      [notDone, noneOfIt, isOpen, inPart, toBeDone].some((sign) => sign.test(sentence)) ||
      isUnderWay(sentence) ||
      saysNotYet(sentence) ||
      makesException(sentence) ||
      isFailing(sentence) ||
      saysNotDoneElsewhere(sentence))
  );
};

/** A title of open work: "Remaining work:", "### Open items". Optional and later work does not count. */
export const titlesOpenWork = (title: string): boolean => {
  if (title.length > maxTitleLength) return false;
  const text = plainWords(title).replace(/(?<![\s:：])[\s:：]+$/, '');
  const at = text.endsWith(')') ? text.lastIndexOf('(') : -1;
  const [words, note] = at === -1 ? [text, ''] : [text.slice(0, at).trim(), text.slice(at)];
  return openWork.test(words) && !/\b(?:future|later|optional|pre-?existing|scope|unrelated)\b/i.test(note);
};

/** An item or a row that ends with its state: "2. two: pending", "| two | failing |". */
export const endsInOpenState = (line: string): boolean => openState.test(line);

const openState =
  /(?:[:：–—→|]|->|\s-)[\s*_`]*(?:still )?(?:blocked|broken|failed|failing|fails|in progress|incomplete|missing|not (?:yet )?(?:complete|done|finished|implemented|started|tested|verified)|open|pending|to ?do|unfinished|wip)[\s*_`.!|]*$/i;

const maxTitleLength = 100;

/** A fraction or percentage below the total: "1/2 complete", "41 of 42 tests pass". */
const isPart = (words: string): boolean =>
  [...words.matchAll(fraction)].some(([, some, all]) => Number(some) < Number(all)) ||
  [...words.matchAll(percentage)].some(([, some]) => Number(some) < 100);

const state = String.raw`(?:clean|closed|complete|completed|done|finished|fixed|green|implemented|met|ok|passing|ready|resolved|satisfied|shipped|tested|ticked|verified|working)`;

const doneWord = /^(?:all )?(?:complete|completed|done|finished|fixed|implemented|shipped|tested|verified)$/i;

const opening =
  /^(?:(?:at this point|by now|finally|for the record|great|in (?:short|summary|conclusion|total)|ok(?:ay)?|so|to (?:sum up|conclude|summari[sz]e)|with (?:that|this)(?: done)?)[,:]? )+/i;

const nothingLeft =
  /^(?:there(?:'s| is| are) )?(?:nothing (?:else |more )?(?:is )?(?:left|missing|open|needed|pending|remains|remaining|required|to do)(?: to (?:do|fix|implement))?|no (?:more |other |further )?(?:errors?|failures?|(?:tests? |tasks? )(?:fails?|failing|left|open|remain|remaining)|(?:failed|failing|missing|open|outstanding|pending|remaining) \w+)(?: left| remain)?)$/i;

/** "Marked as not started: none" */
const noneAtAll = /^[^,:;]+: ?(?:0|none|nothing|n\/a)$/i;

/** A sentence of one word, or as good as one. */
const openAlone =
  /^\W*(?:blocked|draft|in progress|incomplete|not (?:yet )?started|pending|to be continued|to ?do|unfinished|wip|work in progress)$/i;

const doneAtEnd = new RegExp(
  String.raw`^(?!no\b[^,;]*$|none\b|few\b|some\b|expected\b).*(?:\b(?:is|are|was|were|been|all)(?: \w+ly| now| all| both){0,5} ${state}|\bpass(?:es|ed)?|\bworks?|\bsucceed(?:s|ed)?)(?:(?:,| and|, and)(?: \w+ly| now| all){0,5} ${state}){0,10}(?: as (?:expected|required|requested|planned)| now| again)?$`,
  'i',
);

const didIt =
  /^(?:i|we)(?:'ve| have)?(?: now| also)? (?:added|closed|completed|finished|fixed|implemented|resolved|tested|ticked|verified)\b/i;

const qualifying =
  /^(?:had|should|so that|were)\b|\b(?:after|almost|apart|aside|assuming|barely|before|but|cannot|could|except|excluding|first|half|hardly|how|if|later|may|might|most|mostly|must|nearly|never|not|once|only|part(?:ial)?(?:ly)?|phase|provided|shall|should|soon|steps?|then|unless|until|what|when|where|whenever|whether|while|will|would|yet)\b|n't\b|'ll\b|'d\b/i;

const fraction = new RegExp(
  String.raw`(?<![\w/.])(\d+) ?(?:/| of | out of )(?:the )?(\d+)(?![\w/.]\w)(?= (?:\w+ ){0,3}(?:${state}|pass(?:es|ed)?|tasks?|tests?|work)\b)`,
  'gi',
);

const percentage = new RegExp(String.raw`(?<![\w.])(\d+(?:\.\d+)?) ?%(?= (?:\w+ ){0,2}${state}\b)`, 'gi');

const notDone = new RegExp(
  String.raw`(?:\bnot|n't)(?: \w+ly| all| been| yet| quite| be| have)* (?:${state}|begun|build|compile|complete|finish|pass(?:ed)?|started|succeed|verify|work|written)\b|\bnot all\b|^\W*(?:no|nope|not yet)\W*$|\b(?:incomplete|unfinished)\b`,
  'i',
);

/** "Partially done", "it is almost finished". */
const inPart = new RegExp(
  String.raw`(?:^|\b(?:is|are|was|were|been|now|only) )(?:almost|half(?:way)?|mostly|nearly|not fully|part(?:ial)?ly|partway) (?:\w+ )?${state}\b`,
  'i',
);

const toBeDone = new RegExp(
  String.raw`\b(?:is|are|remains?)(?: still| yet)? to (?:be (?:\w+ly )?(?:${state}|added|built|checked|migrated|run|started|updated|written)|do)\b|\bstill (?:has|have) to\b|\bstill needs\b`,
  'i',
);

const noneOfIt = new RegExp(
  String.raw`^(?:barely|hardly|no|none|nothing)\b[^,;]*\b(?:(?:is|are|was|were|been) ${state}|pass(?:es|ed)?|works?(?! (?:differently|is|left|needed|remains|was)\b))\b`,
  'i',
);

const makesException = (words: string): boolean => {
  const at = words.search(anyState);
  return /\b(?:all|everything) but\b/i.test(words) || (at !== -1 && exception.test(words.slice(at)));
};

const anyState = new RegExp(String.raw`\b(?:${state}|pass(?:es|ed)?|works?)\b`, 'i');

const exception = /\b(?:apart from|aside from|but (?:for|not)|except|excluding)\b/i;

/** "I have not run it yet". */
const saysNotYet = (words: string): boolean => /\byet$/i.test(words) && /(?:\bnot|\bnothing|n't)\b/i.test(words);

const isOpen =
  /\b(?:docs|items?|tasks?|tests?|todos?|work)\b(?: \w+)? (?:is|are|remains?) (?:still )?(?:blocked|broken|failing|left|missing|open|pending|red)\b|^(?:left|missing|next (?:action|iteration|phase|round|step|task)|open|pending|remaining|to ?do)(?: (?:items?|steps?|tasks?|work))?\s*:(?!\W*(?:0|no|none|nothing|n\/a)\b)/i;

const openWork = new RegExp(
  String.raw`^(?:still |what(?:'s| is) (?:still )?)?(?:incomplete|left|missing|not (?:yet )?${state}|open|outstanding|pending|remaining|remains|to ?dos?|unfinished|what remains|(?:known )?(?:broken|failed|failing|red)(?= ))(?: (?:actions?|checks?|gaps?|findings?|issues?|items?|points?|steps?|tasks?|tests?|to do|work))*$`,
  'i',
);

/** Only short sentences: a long one may report an earlier failure. */
const isFailing = (words: string): boolean =>
  words.split(' ').length <= 6 &&
  /\b(?:are|build|checks?|is|it|lint|suite|tests?|that|this) (?:still )?fail(?:s|ed|ing)?[.!…]*$|\bstill (?:broken|fail(?:s|ing)?|missing|open|red)[.!…]*$/i.test(
    words,
  ) &&
  !/^(?:no|none|not a|not one|0|zero)\b/i.test(words);

const ofThePast =
  /\b(?:any ?more|because|fixed|if|no longer|not a single|that|used to|was|were|what|when|where|which|whether|whose|why)\b/i;
