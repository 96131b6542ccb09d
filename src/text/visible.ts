/** A command on one line in which nothing can hide: what moves the cursor, turns the text around or is invisible is written out. */
export const visible = (text: string): string => text.replaceAll(hidden, codeOf).replaceAll(/ {9,}/g, blanks);

/** Controls, formats, what has no width, and blanks but for the usual one. */
const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

const codeOf = (char: string): string => {
  if (char === '\n') return String.raw`\n`;
  if (char === '\t') return String.raw`\t`;
  return `\\u{${char.codePointAt(0)!.toString(16)}}`;
};

/** Many blanks would push what follows them out of sight. */
const blanks = (run: string): string => ` [${run.length} blanks] `;
