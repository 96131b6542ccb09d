/** What words say of the work: that it is done, that something is not, or that it is only a part. */

/** Without emphasis, code marks and typographic apostrophes. */
export const plainWords = (text: string): string =>
  text
    .replaceAll(/[*_`]+/g, '')
    .replaceAll('’', "'")
    .replaceAll(/\s+/g, ' ')
    .trim();

/** A statement that all is done outweighs what it says of the work before: "Both failing tests are fixed". */
export const statesDone = (words: string): boolean => {
  const statement = words.replace(opening, '');
  if (nothingLeft.test(statement)) return true;
  return doneAtEnd.test(statement) && !outweighs.test(statement) && !isPart(statement) && !/[:：]/.test(statement);
};

/** Something in it is not done, or it is an answer with no. */
export const saysNotDone = (words: string): boolean =>
  !ofThePast.test(words) && (isPart(words) || notDone.test(words) || isFailing(words));

/** A count or a percentage that is not all of it: "1/2 complete", "41 of 42 tests pass". */
export const isPart = (words: string): boolean =>
  [...words.matchAll(fraction)].some(([, some, all]) => Number(some) < Number(all)) ||
  [...words.matchAll(percentage)].some(([, some]) => Number(some) < 100);

const state = String.raw`(?:clean|closed|complete|completed|done|finished|fixed|green|implemented|met|ok|passing|ready|resolved|satisfied|shipped|tested|ticked|verified|working)`;

const opening =
  /^(?:(?:at this point|by now|finally|for the record|great|in (?:short|summary|conclusion|total)|ok(?:ay)?|so|to (?:sum up|conclude|summari[sz]e)|with (?:that|this)(?: done)?)[,:]? )+/i;

const nothingLeft =
  /^(?:there(?:'s| is| are) )?(?:nothing (?:is |else |more )?(?:left|missing|open|pending|remains|remaining|to do)(?: to (?:do|fix|implement))?|no (?:more |other |further )?(?:errors?|failures?|(?:tests? |tasks? )(?:fails?|failing|left|open|remain|remaining)|(?:failed|failing|missing|open|outstanding|pending|remaining) \w+)(?: left| remain)?)$/i;

const doneAtEnd = new RegExp(
  String.raw`^(?!no\b|none\b|few\b|some\b|expected\b).*(?:\b(?:is|are|was|were|been|all)(?: \w+ly| now| all| both)* ${state}|\bpass(?:es|ed)?|\bworks?|\bsucceed(?:s|ed)?)(?:(?:,| and|, and)(?: \w+ly| now| all)* ${state})*(?: as (?:expected|required|requested|planned)| now| again)?$`,
  'i',
);

/** What no statement outweighs. */
const outweighs =
  /\b(?:after|almost|apart|before|but|cannot|could|except|excluding|first|half|how|if|later|may|might|most|mostly|must|nearly|never|not|once|only|part(?:ial)?(?:ly)?|phase|shall|should|soon|steps?|then|unless|until|what|when|where|whether|will|would|yet)\b|n't\b|'ll\b|'d\b/i;

const fraction = new RegExp(
  String.raw`(?<![\w/.])(\d+) ?(?:/| of | out of )(?:the )?(\d+)(?![\w/.]\w)(?= (?:\w+ ){0,3}(?:${state}|pass(?:es|ed)?|tasks?|tests?|work)\b)`,
  'gi',
);

const percentage = new RegExp(String.raw`(?<![\w.])(\d+(?:\.\d+)?) ?%(?= (?:\w+ ){0,2}${state}\b)`, 'gi');

const notDone = new RegExp(
  String.raw`(?:\bnot|n't)(?: \w+ly| all| been| yet| quite| be)* (?:${state}|started|written|begun)\b|^(?:no|nope|not yet)\W*$|\b(?:incomplete|unfinished)\b`,
  'i',
);

/** Short, so that it is no account of what did fail. */
const isFailing = (words: string): boolean =>
  words.split(' ').length <= 6 &&
  /\b(?:are|build|checks?|is|it|lint|suite|tests?|that|this) (?:still )?fail(?:s|ed|ing)?[.!…]*$|\bstill (?:broken|fail(?:s|ing)?|missing|open|red)[.!…]*$/i.test(
    words,
  ) &&
  !/^(?:no|none|0|zero)\b/i.test(words);

const ofThePast =
  /\b(?:any ?more|because|fixed|if|no longer|that|used to|was|were|when|where|which|whether|whose|why)\b/i;
