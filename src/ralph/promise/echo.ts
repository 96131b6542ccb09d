import type { Tag } from './tags.ts';

/**
 * Returns a function that detects an echo of the prompt: a tag preceded by the same words as in the prompt, regardless
 * of decoration and line breaks. In plain output part of a sentence is enough (`in part`). In a message of the agent,
 * which may contain a sentence it was asked for, more is needed (`at length`).
 */
export const createEcho = (prompt: string, how: 'in part' | 'at length') => {
  const length = lengths[how];
  let bare: string | null = null;
  return (text: string, { start, end }: Tag): boolean => {
    const before = bareOf(text.slice(Math.max(0, start - reach), start)).slice(-length);
    // The output so far may be shorter.
    if (before.length < (how === 'in part' ? minLength : length)) return false;
    bare ??= bareOf(prompt);
    return bare.includes(before + bareOf(text.slice(start, end)));
  };
};

/** How many letters and digits must match. */
const lengths = { 'in part': 24, 'at length': 200 };
const minLength = 8;
/** How many characters before the tag are searched. */
const reach = 4000;

/** Keeps only letters and digits. */
const bareOf = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]+/gu, '');
