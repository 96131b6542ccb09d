/**
 * Whether words that stand right before a promise are about it, so that it is part of what they say: "then output",
 * "when all is done I will print:". What an agent says of its work ("All tests pass", "It prints ok.") is not.
 */
export const leadsUp = (sentence: string, { listed = false } = {}): boolean => {
  const words = plainWords(sentence);
  if (/[:：]$/.test(words)) return !introduces(words);
  if (/[,;、，；(（[{/=]$|[\s(]["'“‘«„]$/.test(words)) return true;
  if (endsSentence(words)) return announces(words);
  return dangles(words) || announces(words) || (!listed && /^(?:when|once|if|until|unless|as soon as)\b/i.test(words));
};

/** A short label, or a statement, that ends in a colon and does not put the promise off: "Final answer:", "All done:". */
export const introduces = (words: string): boolean => {
  const label = plainWords(words).replace(/[\s:：]+$/, '');
  if (wordsIn(label) > longestIntroduction || dangles(label) || condition.test(label)) return false;
  return isAboutTheEnd(label) && !putsOff.test(label);
};

/** A heading that says when the promise is printed: "On success:", "How I signal that all is done:". */
const condition =
  /^(?:at|by|during|for|how|in(?! (?:conclusion|short|summary|total))|on|to|upon|what|where|with)(?![-\w])/i;

/** It speaks of what is to do or not done. */
export const isPutOff = (words: string): boolean => putsOff.test(plainWords(words));

/** A phrase that says, without a full stop, that all is done: "All done ✅". */
export const declares = (words: string): boolean => {
  const phrase = plainWords(words);
  return wordsIn(phrase) <= longestPhrase && !putsOff.test(phrase) && !dangles(phrase) && !saying.test(phrase);
};

/** A full stop behind an abbreviation ends no sentence. */
export const endsSentence = (words: string): boolean =>
  /[.!?…。！？．｡][\s"'”’»)\]）】」』]*$/.test(words) && !/\b(?:e\.g|i\.e|cf|vs|viz|bzw|z\.\s?b)\.$/i.test(words);

/** The last sentence of a paragraph. Where in doubt, it is longer rather than shorter. */
export const lastSentence = (paragraph: string): string =>
  paragraph
    .trim()
    .split(/(?<=[.!?…][\s"'”’»)\]]*)\s+(?=["'“‘«(]?[\p{Lu}\p{N}])|(?<=[。！？])/u)
    .at(-1) ?? '';

const longestIntroduction = 20;
const longestPhrase = 12;
/** In languages of which only a few words are known. */
const longestElsewhere = 3;

const wordsIn = (text: string): number => text.split(/\s+/).filter(Boolean).length;

/** Without emphasis, code marks and typographic apostrophes. */
const plainWords = (text: string): string =>
  text
    .replaceAll(/[*_`]+/g, '')
    .replaceAll('’', "'")
    .replaceAll(/\s+/g, ' ')
    .trim();

const isAboutTheEnd = (text: string): boolean =>
  aboutTheEnd.test(text) ||
  (wordsIn(text) <= longestElsewhere && aboutTheEndElsewhere.test(text) && !putsOffElsewhere.test(text));

const aboutTheEnd =
  /\b(?:answer|assistant|closed|complet(?:e|ed|es|ion)|conclusion|confirm(?:ed|ation)?|done|final|finish(?:ed)?|fixed|good|green|hence|implemented|met|ok|output|pass(?:es|ed|ing)?|promise|ready|resolved|result|satisfied|signal|shipped|status|success(?:ful|fully)?|summary|tag|tested|therefore|thus|verdict|verified|working|works)\b/i;

const aboutTheEndElsewhere =
  /完成|完了|完毕|結論|结论|готово|завершено|выполнено|итог|\b(?:fertig|erledigt|abgeschlossen|ergebnis|terminée?s?|fini|résultat|listo|hecho|terminado|completad[oa]|concluído|feito|pronto|fatto|completato|klaar|gereed|gotowe|zakończone|hotovo|färdig|klar|valmis)(?!\p{L})/iu;

const putsOffElsewhere =
  /[后後时時会會将將若当當未没沒不再]|(?<!\p{L})(?:wenn|sobald|falls|dann|danach|nicht|noch|quand|lorsque|si|pas|puis|cuando|no|luego|quando|não|non|poi|если|когда|не|потом)(?!\p{L})/iu;

/** Words with which the promise is denied, announced, asked for or made to depend on something. */
const putsOff =
  /\b(?:after|almost|asked?|before|blocked|cannot|could|e\.g|desired|example|expected|fail(?:s|ed|ing|ure)?|format|half|if|incomplete|instruct(?:ed|ions?)?|later|left|may|might|missing|mostly|must|nearly|need(?:s|ed)?|never|next|not|once|only|open|part(?:ial)?(?:ly)?|pending|plan|remain(?:s|ing)?|required|sample|shall|should|soon|step|still|supposed|template|then|todo|told|unfinished|unless|until|unverified|wait(?:ing)?|when|will|would|yet)\b|n't\b|'ll\b|'d\b|\bto (?:be|do|print|say|output|emit|write)\b/i;

const saying =
  /\b(?:print(?:s|ed|ing)?|output(?:s|ted|ting)?|emit(?:s|ted|ting)?|says?|said|saying|writ(?:e|es|ten|ing)|echo)\b/i;

/** It ends where something has to follow. */
const dangles = (words: string): boolean => dangling.test(words);

const dangling =
  /(?<![-\w])(?:a|after|an|and|are|as|be|because|before|but|by|emit|exactly|finally|following|if|is|like|not|of|only|or|print|prints|says?|should|so|that|the|then|this|to|unless|until|when|which|will|with|would)$|(?:[,;]|(?<![-\w])(?:always|and|can|finally|i|just|must|never|not|now|only|or|please|shall|should|then|to|we|will|would|you)|n't)\s+(?:answer|output|reply|respond|write)$|\b(?:agent|i|it|iteration|they|we|you) (?:printed|said|wrote)$/i;

/** It says of the promise itself that it comes later, under a condition, or not. */
const announces = (words: string): boolean => {
  if (/\bnow\b/i.test(words) && !words.endsWith('?') && !denied.test(words)) return false;
  if (speaker.test(words) || trailsOff.test(words)) return true;
  return /\bpromise\b/i.test(words) && saying.test(words) && (conditional.test(words) || denied.test(words));
};

const speaker =
  /\b(?:(?:i|we)(?:'ll|'d| will| would| shall| should| cannot| can't| can not| could| must| may| might| won't| wouldn't| do not| don't| did not| didn't| have to| need to| am (?:not )?(?:going|about|allowed|able) to)(?: not)?|(?:can|do|may|must|shall|should|will|would) (?:i|we|you))(?: \w+){0,2} (?:print|output|emit|say|declare|announce|claim|write)\b/i;

const trailsOff = /\b(?:print|output|emit|say)s? ?(?:…|\.{2,})$/i;

const denied = /\b(?:after|before|cannot|if|later|never|next|not|once|unless|until|when|would|yet)\b|n't\b/i;

const conditional = /\b(?:must|only|shall|should|then|will)\b|'ll\b/i;
