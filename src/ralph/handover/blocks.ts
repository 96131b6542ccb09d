import { marksBefore } from '../promise/tag-position.ts';

/** The part of a text from `<handover>` to `</handover>`, or to its end if that is missing. */
export interface HandoverBlock {
  readonly start: number;
  readonly end: number;
  readonly content: string;
  readonly isClosed: boolean;
}

/**
 * Returns the blocks in a cleaned text. A block starts at the beginning of a line, save for decoration: anywhere else the
 * tag is only mentioned. A closing tag without an opening one ends a block that began before the text.
 */
export const blocksIn = (text: string): HandoverBlock[] => {
  const blocks: HandoverBlock[] = [];
  let opener: { readonly start: number; readonly content: number } | null = null;
  for (const { index, 0: tag, 1: slash } of text.matchAll(tagPattern)) {
    const end = index + tag.length;
    if (slash === '') opener ??= startsLine(text, index) ? { start: index, content: end } : null;
    else if (opener !== null) {
      blocks.push({ start: opener.start, end, content: text.slice(opener.content, index), isClosed: true });
      opener = null;
    } else if (blocks.length === 0) blocks.push({ start: 0, end, content: '', isClosed: true });
  }
  if (opener === null) return blocks;
  return [...blocks, { ...opener, end: text.length, content: text.slice(opener.content), isClosed: false }];
};

/** Replaces blocks by blanks, so that every position stays the same. */
export const blankBlocks = (text: string): string => replaceBlocks(text, (block) => block.replaceAll(/[^\n]/g, ' '));

export const withoutBlocks = (text: string): string => replaceBlocks(text, () => '');

/** Removes the tags that mean something to Spool, and keeps what is between them. */
export const withoutTags = (text: string): string => text.replaceAll(anyTag, '');

const tagPattern = /<\s{0,3}(\/?)\s{0,3}handover\s{0,3}>/gi;
const anyTag = /(?:<|&lt;)\s{0,3}\/?\s{0,3}(?:handover|promise)\s{0,3}(?:>|&gt;)/gi;

/** Longer decoration is text. */
const maxPrefix = 40;

const startsLine = (text: string, index: number): boolean => {
  const prefix = text.slice(text.lastIndexOf('\n', index - 1) + 1, index);
  return prefix.length <= maxPrefix && prefix.replace(marksBefore, '') === '';
};

const replaceBlocks = (text: string, replacement: (block: string) => string): string => {
  const blocks = blocksIn(text);
  if (blocks.length === 0) return text;
  const parts = blocks.map(({ start, end }, index) => {
    const before = text.slice(blocks[index - 1]?.end ?? 0, start);
    return before + replacement(text.slice(start, end));
  });
  return parts.join('') + text.slice(blocks.at(-1)!.end);
};
