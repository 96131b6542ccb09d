/**
 * Renders a command on one line so that nothing in it can hide: control, bidirectional and invisible characters are
 * escaped.
 */
export const visible = (text: string): string => text.replaceAll(hidden(), codeOf).replaceAll(/ {9,}/g, blanks);

/** Control, format and zero-width characters, and all spaces except U+0020. Not a constant, as it is slow to create. */
const hidden = () => /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

const codeOf = (char: string): string => {
  if (char === '\n') return String.raw`\n`;
  if (char === '\t') return String.raw`\t`;
  return `\\u{${char.codePointAt(0)!.toString(16)}}`;
};

/** A long run of spaces would push the rest out of sight. */
const blanks = (run: string): string => ` [${run.length} blanks] `;
