import { findIn, type Finding, maxMentions, type Promises, type Reading } from './judge-message.ts';
import type { Mention } from './tags.ts';
import { createTail } from './tail.ts';

/** Searches an agent's output for both promises, regardless of chunking. Only the last message counts. */
export const createSearch = (promises: Promises, reading: Reading) => {
  const newTail = () =>
    createTail([promises.completionPromise, promises.blockedPromise], maxMentions, promises.tagName);
  let tail = newTail();
  let earlier: readonly Mention[] = [];
  let finding: Finding | null = null;

  const judge = (): Finding => {
    if (finding !== null) return finding;
    const { mentions, ...latest } = findIn(tail, promises, reading);
    finding = { ...latest, mentions: [...earlier, ...mentions].slice(-maxMentions) };
    return finding;
  };

  return {
    /** `why` an earlier promise does not count. */
    startMessage(why = 'the agent had more to say after it'): void {
      const { found, evidence, mentions } = judge();
      earlier = found ? [...mentions, { words: evidence ?? '', why }] : mentions;
      tail = newTail();
      finding = null;
    },
    feed(text: string): void {
      tail.feed(text);
      finding = null;
    },
    judge,
  };
};
