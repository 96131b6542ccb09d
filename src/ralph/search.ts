import { createPromiseDetector, type Mention } from './promise.ts';

/** How many tags that do not count are kept. */
const mentionsKept = 10;
/** How far from a blocked promise its reason may stand. */
const reasonReach = 2000;

/** Looks for both promises in an agent's words, and keeps the words around them. */
export const createSearch = (
  { completionPromise, blockedPromise }: Promises,
  objection: (words: string) => string | null = () => null,
) => {
  const mentions: Mention[] = [];
  const mentioned = (mention: Mention) => {
    if (mentions.length === mentionsKept) mentions.shift();
    mentions.push(mention);
  };
  const detectors = () => ({
    completion: createPromiseDetector(completionPromise, { mentioned, objection }),
    blocked: createPromiseDetector(blockedPromise, { mentioned, objection }),
  });
  let { completion, blocked } = detectors();
  let earlier = '';
  let latest = '';
  let reason: string | null = null;
  let sinceBlocked = 0;

  const keep = () => {
    if (blocked.found && reason === null && sinceBlocked > reasonReach)
      reason = reasonIn(earlier + latest, blockedPromise);
  };

  return {
    mentions,
    /** What was promised in an earlier message is not the agent's last word. */
    startMessage(): void {
      if (!completion.found && !blocked.found) return;
      if (completion.found) mentioned({ words: completion.evidence ?? '', why: 'the agent had more to say after it' });
      ({ completion, blocked } = detectors());
      [earlier, latest] = ['', ''];
      reason = null;
      sinceBlocked = 0;
    },
    feed(text: string): void {
      if (completion.found && blocked.found) return;
      [earlier, latest] = [endOf(earlier, latest), text];
      completion.feed(text);
      if (blocked.found) sinceBlocked += text.length;
      blocked.feed(text);
      keep();
    },
    endMessage(): void {
      completion.endMessage();
      blocked.endMessage();
      keep();
      if (blocked.found) reason ??= reasonIn(earlier + latest, blockedPromise);
    },
    get found() {
      return completion.found;
    },
    get evidence() {
      return completion.evidence;
    },
    /** Why the agent gave up; null when it has not. */
    get blocked() {
      return reason;
    },
  };
};

/** The end of two texts; a long one is not copied for it. */
const endOf = (first: string, second: string): string =>
  (second.length >= 2 * reasonReach ? second : first + second).slice(-2 * reasonReach);

interface Promises {
  readonly completionPromise: string;
  readonly blockedPromise: string;
}

/** The first line behind the tag, or the last one before it. */
const reasonIn = (text: string, blockedPromise: string): string => {
  const escaped = blockedPromise.trim().replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
  const tags = [...text.matchAll(new RegExp(`<promise>\\s*${escaped}\\s*</promise>`, 'g'))];
  const tag = tags.at(-1);
  if (!tag) return noReason;
  const before = telling(text.slice(0, tag.index)).at(-1);
  const behind = telling(text.slice(tag.index + tag[0].length))[0];
  return (behind ?? before)?.replace(/^\W*(?:reason|blocked)\W*:\W*/i, '') || noReason;
};

/** The lines that say something; a fence or a rule does not. */
const telling = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /[\p{L}\p{N}]/u.test(line));

const noReason = 'it gave no reason';
