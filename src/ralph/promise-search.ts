import { findIn, type Finding, mentionsKept, type Promises, type Reading } from './finding.ts';
import type { Mention } from './promise.ts';
import { createTail } from './tail.ts';

/** Looks for both promises in an agent's words, in any chunking. They count in the last message only. */
export const createSearch = (promises: Promises, reading: Reading) => {
  const newTail = () => createTail([promises.completionPromise, promises.blockedPromise], mentionsKept);
  let tail = newTail();
  let earlier: readonly Mention[] = [];
  let finding: Finding | null = null;

  /** What the words so far come to. */
  const judge = (): Finding => {
    if (finding !== null) return finding;
    const { mentions, ...latest } = findIn(tail, promises, reading);
    finding = { ...latest, mentions: [...earlier, ...mentions].slice(-mentionsKept) };
    return finding;
  };

  return {
    startMessage(): void {
      const { found, evidence, mentions } = judge();
      earlier = found ? [...mentions, { words: evidence ?? '', why: 'the agent had more to say after it' }] : mentions;
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
