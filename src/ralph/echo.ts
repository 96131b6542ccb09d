import type { Tag } from './promise.ts';

/**
 * Tells an echo of the prompt from the agent's own words: a tag that comes with the words before it in the prompt,
 * however they are decorated and broken into lines. In output without structure a part of a sentence is enough; an agent
 * that repeats its instructions in a message does so at length, and says a sentence that it was asked for.
 */
export const createEcho = (prompt: string, how: 'in part' | 'at length') => {
  const length = lengths[how];
  let bare: string | null = null;
  return (text: string, { start, end }: Tag): boolean => {
    const before = bareOf(text.slice(Math.max(0, start - reach), start)).slice(-length);
    // All that was printed may be shorter.
    if (before.length < (how === 'in part' ? shortest : length)) return false;
    bare ??= bareOf(prompt);
    return bare.includes(before + bareOf(text.slice(start, end)));
  };
};

/** How much of the prompt, in letters and digits, is no chance. */
const lengths = { 'in part': 24, 'at length': 200 };
const shortest = 8;
/** How far back that much is looked for, in characters. */
const reach = 4000;

/** Letters and digits only: bars, quotes and line breaks do not matter. */
const bareOf = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]+/gu, '');
