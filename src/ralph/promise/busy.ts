/** Recognises an agent that is still working, or that waits for the user. */

/** Says what the agent does next, or that it is still working. A line in lower case may be the output of a command. */
export const keepsWorking = (sentence: string): boolean =>
  [goesOn, letMe, isBusy].some((sign) => sign.test(sentence)) || (/^[A-Z]/.test(sentence) && atWork.test(sentence));

/** Something has not ended. */
export const isUnderWay = (sentence: string): boolean => stillGoing.test(sentence) || inBackground.test(sentence);

/** Asks the user what to do, or for something that only the user has. */
export const asksUser = (sentence: string): boolean =>
  (sentence.endsWith('?') && asksWhether.test(sentence)) || needsUser.test(sentence);

/** Says what the agent does next, other than print the promise. */
const goesOn =
  /^(?:(?:next|now|then),? )?(?:i|we)(?:'ll| will| still| need to| have to| must| am going to| are going to)(?: now| next| then| still| need to| have to)* (?!(?:now|next|then|still|need|have|be|close|conclude|declare|emit|end|finish|leave|output|print|say|stop)\b|write (?:my|the|this) (?:completion |line|promise|tag))\w|^next,? (?:i|we)\b/i;

/** "Now let me run the tests". */
const letMe =
  /^(?:(?:first|next|now|ok(?:ay)?|so|then),? )?let(?:'s| me| us)(?: also| first| now| next| then)* (?!(?:also|first|now|next|then|be|close|conclude|declare|emit|end|finish|know|output|print|say|stop|sum|summari[sz]e)\b)\w/i;

/** "Waiting for CI", "Running the tests again now". */
const atWork =
  /^(?:(?:currently|now|still) )?(?:awaiting|waiting (?:for|on|until)|(?:building|checking|continuing with|debugging|fixing|investigating|re-?running|re-?trying|running|working on) (?:\w+ ){0,4}(?:build|checks?|ci|errors?|failures?|lint|suite|tasks?|tests?)(?: (?:again|first|next|now))?$)/i;

/** Says that the agent is still working: "I'm letting it run". */
const isBusy =
  /(?:^|[,;–—] ?(?:and |but |so )?)(?:i'm|i am|we're|we are)(?: also| now| still)* (?:checking|continuing|keeping (?:an eye|(?:it|them|this|the \w+(?: \w+)?) (?:alive|going|moving|running))|launching|letting (?:it|them|this|the \w+(?: \w+)?) (?:continue|finish|run)|monitoring|polling|running (?:a|all|another|it|more|one|some|the|them|this)|staying on|waiting|watching|working on)\b/i;

/** A server that is still running does not count. */
const stillGoing =
  /(?<!\b(?:app|container|daemon|server|service|site))(?:'s| is| are) still (?:being \w+|building|computing|in (?:flight|progress)|running|training|under ?way|waiting)\b/i;

/** "The tests are running in the background". */
const inBackground =
  /\b(?:build|checks?|ci|jobs?|lint|pipeline|suite|tests?|verification)(?:'s| is| are)(?: currently| now| still)? (?:being run|building|in progress|queued|running|under ?way)\b(?! (?:again|cleanly|fine|green|smoothly|successfully|without)\b)/i;

const asksWhether =
  /^(?:[\w']+,? ){0,4}(?:can|could|do|may|shall|should|would) (?:i|we|you)\b|\b(?:like|want) me to\b/i;

const needsUser =
  /\b(?:i|we)(?: still)? (?:await|need|require) (?:(?:a|an|more|some|the|your) )?(?:\w+ )?(?:access|answers?|approval|clarification|confirmation|credentials?|decision|feedback|go-?ahead|guidance|help|input|instructions?|permission|reply)\b|^please (?:advise|approve|choose|clarify|confirm|decide|provide|tell me)\b/i;
