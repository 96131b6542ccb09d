import { announcesElsewhere, endsElsewhere } from './languages.ts';
import { isDoneWord, plainWords, qualifies, statesDone } from './statement.ts';

interface SentencePosition {
  /** In a list, a heading or a table, where a sentence cannot continue on the next line. */
  readonly listed?: boolean;
  /** Followed by a blank line. */
  readonly separated?: boolean;
}

/**
 * Whether the words right before a promise are about it, so that the promise is part of their sentence: "then output",
 * "when all is done I will print:". Statements about the work ("All tests pass", "It prints ok.") are not.
 */
export const leadsUp = (sentence: string, { listed = false, separated = false }: SentencePosition = {}): boolean => {
  const words = plainWords(sentence);
  if (/[:：]$/.test(words)) return !introduces(words);
  if (/[,;、，；(（[{/=]$|[\s(]["'“‘«„]$/.test(words)) return true;
  if (openingTag.test(words)) return true;
  if (endsSentence(words)) return announces(words);
  return dangles(words) || announces(words) || (!listed && isCondition(words) && !(separated && isWhole(words)));
};

/** A tag that may open an example or a template. */
const openingTag = /^<[a-z][\w-]*>$/i;

const isCondition = (words: string): boolean => /^(?:when|once|if|until|unless|as soon as)\b/i.test(words);

/** A complete conditional sentence that has nothing to do with the promise: "If in doubt, see the docs". */
const isWhole = (words: string): boolean =>
  /, \S+ \S+/.test(words) &&
  !aboutTheEnd.test(words) &&
  !saying.test(words) &&
  !/\b(?:i|iteration|loop|we)\b/i.test(words);

/**
 * A short label or statement that ends with a colon and does not postpone the promise: "Final answer:", "All done:".
 */
export const introduces = (words: string): boolean => {
  const label = plainWords(words).replace(/(?<![\s:：])[\s:：]+$/, '');
  if (wordsIn(label) > maxIntroductionWords || /["”»]$/.test(label)) return false;
  if (statesDone(label) || obeys.test(label) || saysNow(label)) return true;
  if (dangles(label) || condition.test(label) || another.test(label)) return false;
  return isAboutTheEnd(label) && !putsOff(label);
};

/** A statement before a comma or a semicolon that all is done: "Finished,", "Everything works;". */
export const declaresDone = (words: string): boolean => {
  const text = plainWords(words);
  if (isDoneWord(text)) return true;
  return (
    statesDone(text) && !condition.test(text) && !saying.test(text) && !/\b(?:signal|tell|that|which)\b/i.test(text)
  );
};

/** A heading that says when the promise will be printed: "On success:", "How I signal that all is done:". */
const condition =
  /^(?:at|by|during|for|how|in(?! (?:conclusion|short|summary|total))|on|to|upon|what|where|with)(?![-\w])/i;

/** A label for the output of something else, or a definition: "Test output:", "Definition of done:". */
const another =
  /\b(?:build|command|console|last|log|previous|program|script|shell|terminal|tests?|tool) (?:answer|output|result|status)$|^(?:definition|meaning)\b/i;

const obeys =
  /^as (?:agreed|asked|instructed|promised|requested|required)(?:,? (?:here (?:is|it is)|i(?:'m| am)?(?: now)? (?:emit|output|print|write|emitting|outputting|printing|writing))(?: (?:the|my))?(?: completion)?(?: promise| tag)?)?$/i;

/** Announces the promise for now, or as the consequence of a statement that all is done. */
const saysNow = (words: string): boolean => {
  const done = /^(.+?),? (?:hence|so|therefore|thus),? (?:i|we) (?:emit|output|print|write)\b/i.exec(words)?.[1];
  if (done !== undefined && statesDone(done) && !denied.test(words)) return true;
  if (!speaker.test(words) || denied.test(words) || /\bthen\b|\?$/i.test(words)) return false;
  if (/\bnow\b/i.test(words)) return true;
  const reason = /^(.+?),? (?:hence|so|therefore|thus),? (?:i|we)\b/i.exec(words)?.[1];
  return reason !== undefined && statesDone(reason);
};

/** Mentions work that is still to be done. */
export const isPutOff = (words: string): boolean => putsOff(plainWords(words));

/** A phrase without a full stop that says that all is done: "All done ✅". */
export const declares = (words: string): boolean => {
  const phrase = plainWords(words);
  return wordsIn(phrase) <= maxPhraseWords && !putsOff(phrase) && !dangles(phrase) && !saying.test(phrase);
};

/** Like `declares`, and the phrase is about the end of the work: "Status: COMPLETE". */
export const declaresTheEnd = (words: string): boolean => declares(words) && isAboutTheEnd(plainWords(words));

/** A full stop after an abbreviation does not end a sentence. */
export const endsSentence = (words: string): boolean =>
  /[.!?…。！？．｡।؟۔][\s"'”’»)\]）】」』]*$/.test(words) && !/\b(?:e\.g|i\.e|cf|vs|viz|bzw|z\.\s?b)\.$/i.test(words);

/** Returns the last sentence of a paragraph. If in doubt, it returns more rather than less. */
export const lastSentence = (paragraph: string): string =>
  paragraph
    .trim()
    .split(/(?<=[.!?…][\s"'”’»)\]]{0,20})(?<!\s)\s+(?=["'“‘«(]?[\p{Lu}\p{N}])|(?<=[。！？])|(?<=[।؟۔])\s+/u)
    .at(-1) ?? '';

const maxIntroductionWords = 20;
const maxPhraseWords = 12;
const wordsIn = (text: string): number => text.split(/\s+/).filter(Boolean).length;

const isAboutTheEnd = (text: string): boolean => aboutTheEnd.test(text) || endsElsewhere(text, wordsIn(text));

const aboutTheEnd =
  /\b(?:answer|assistant|closed|complet(?:e|ed|es|ion)|conclusion|confirm(?:ed|ation)?|done|final|finish(?:ed)?|fixed|good|green|hence|implemented|met|ok|output|pass(?:es|ed|ing)?|promise|ready|resolved|result|satisfied|signal|shipped|status|success(?:ful|fully)?|summary|tag|tested|therefore|thus|verdict|verified|working|works)\b/i;

/** Denies, postpones or qualifies the promise. */
const putsOff = (words: string): boolean => qualifies(words) || (toCome.test(words) && !statesDone(words));

const toCome =
  /\b(?:after|almost|apart|asked?|before|blocked|but|cannot|could|e\.g|desired|earlier|example|except|excluding|expected|fail(?:s|ed|ing|ure)?|format|half|if|incomplete|instruct(?:ed|ions?)?|later|left|may|might|missing|mostly|must|nearly|need(?:s|ed)?|never|next|no|none|not|once|only|open|part(?:ial)?(?:ly)?|pending|plan|previous|remain(?:s|ing)?|required|sample|shall|should|soon|steps?|still|supposed|template|then|todo|told|unfinished|unless|until|unverified|wait(?:ing)?|when|will|would|yet)\b|n't\b|'ll\b|'d\b|\bto (?:be|do|print|say|output|emit|write)\b/i;

const saying =
  /\b(?:print(?:s|ed|ing)?|output(?:s|ted|ting)?|emit(?:s|ted|ting)?|says?|said|saying|writ(?:e|es|ten|ing)|echo|(?:end|finish|close|conclude|reply|respond|answer)(?:s|ed|ing)? with)\b/i;

/** Ends where something has to follow. */
const dangles = (words: string): boolean => dangling.test(words);

const dangling =
  /(?<![-\w])(?:a|after|an|and|are|as|be|because|before|but|by|emit|exactly|finally|following|if|is|like|not|of|only|or|print|prints|says?|should|so|that|the|then|this|to|unless|until|when|which|will|with|would)$|(?:[,;]|(?<![-\w])(?:always|and|can|finally|i|just|must|never|not|now|only|or|please|shall|should|then|to|we|will|would|you)|n't)\s+(?:answer|output|reply|respond|write)$|\b(?:agent|i|it|iteration|they|we|you) (?:printed|said|wrote)$/i;

/** Says that the promise itself comes later, conditionally, or not at all. */
const announces = (words: string): boolean => {
  if (withholds.test(words)) return true;
  if (/\bnow\b/i.test(words) && !words.endsWith('?') && !denied.test(words)) return false;
  if (announcesElsewhere(words)) return true;
  if (speaker.test(words) || trailsOff.test(words)) return !saysNow(words.replace(/(?<![\s.!])[\s.!]+$/, ''));
  return thePromise.test(words) && saying.test(words) && (conditional.test(words) || denied.test(words));
};

const thePromise = /\b(?:promise|following|(?:this|the) (?:line|tag|word))\b/i;

const speaker =
  /\b(?:(?:i|we)(?:'ll|'d| will| would| shall| should| cannot| can't| can not| could| must| may| might| won't| wouldn't| do not| don't| did not| didn't| have to| need to| am (?:not )?(?:going|about|allowed|able) to)(?: not)?|(?:can|do|may|must|shall|should|will|would) (?:i|we|you))(?: \w+){0,2} (?:print|output|emit|say|declare|announce|claim|write|(?:end|finish|close|conclude|reply|respond|answer) with)\b/i;

const trailsOff = /\b(?:print|output|emit|say)s? ?(?:…|\.{2,})$/i;

const denied = /\b(?:after|before|cannot|if|later|never|next|not|once|unless|until|when|would|yet)\b|n't\b/i;

/** "I am NOT printing", "I am withholding the promise". */
const withholds =
  /\b(?:not|never|without) (?:announcing|claiming|declaring|emitting|outputting|printing|saying)(?: (?:anything|completion|done|it|promise|tag|that|the|this|yet))*[.!]?$|\b(?:declin(?:e|ing) to|refrain(?:ing)? from|refus(?:e|ing) to|withhold(?:ing)?|hold(?:ing)? back)(?: (?:completion|declare|declaring|emit|emitting|it|output|outputting|print|printing|promise|tag|that|the|this|yet))*[.!]?$/i;

const conditional =
  /\b(?:asks?|asked|instructed|must|need(?:s|ed)?|only|shall|should|supposed|then|told|wants?|will)\b|'ll\b/i;
