import { createPromiseDetector, type Mention } from './promise.ts';

/** How much of the text that made it complete is kept. */
const evidenceLength = 300;
/** How many tags that do not count are kept. */
const mentionsKept = 10;
/** How far from a blocked promise its reason may stand. */
const reasonReach = 2000;

/** Looks for both promises in an agent's words, and keeps the words around them. */
export const createSearch = ({ completionPromise, blockedPromise }: Promises) => {
  const mentions: Mention[] = [];
  const completion = createPromiseDetector(completionPromise, (mention) => {
    if (mentions.length === mentionsKept) mentions.shift();
    mentions.push(mention);
  });
  const blocked = createPromiseDetector(blockedPromise);
  let recent = '';
  let evidence: string | null = null;
  let reason: string | null = null;
  let sinceBlocked = 0;

  const keep = () => {
    if (completion.found && evidence === null) {
      const end = recent.lastIndexOf('</promise>');
      evidence =
        end === -1
          ? `<promise>${completionPromise}</promise>`
          : recent.slice(0, end + '</promise>'.length).slice(-evidenceLength);
    }
    if (blocked.found && reason === null && sinceBlocked > reasonReach) reason = reasonIn(recent, blockedPromise);
  };

  return {
    mentions,
    feed(text: string): void {
      if (completion.found && blocked.found) return;
      recent += text;
      completion.feed(text);
      if (blocked.found) sinceBlocked += text.length;
      blocked.feed(text);
      keep();
      recent = recent.slice(-2 * reasonReach);
    },
    endMessage(): void {
      completion.endMessage();
      blocked.endMessage();
      keep();
      if (blocked.found) reason ??= reasonIn(recent, blockedPromise);
    },
    get found() {
      return completion.found;
    },
    get evidence() {
      return evidence;
    },
    /** Why the agent gave up; null when it has not. */
    get blocked() {
      return reason;
    },
  };
};

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
  const before = text.slice(0, tag.index).trim().split('\n').at(-1)?.trim();
  const behind = text
    .slice(tag.index + tag[0].length)
    .replace(/^[*_]+/, '')
    .trim()
    .split('\n')[0]
    ?.trim();
  return (behind || before || noReason).replace(/^(?:\W*(?:reason|blocked)\W*:\W*)/i, '').slice(0, 500) || noReason;
};

const noReason = 'it gave no reason';
