import { createClosing } from '../tasks/visible-lines.ts';

/** Whether a line says how something is verified: `- **Verify**: …` or `**Verify:** …`. */
export const isVerifyLine = (line: string): boolean => label.test(line);

/** The command of such a line, which is its first code: `` **Verify**: `npm test` ``. null if it has none. */
export const verifyCommand = (line: string): string | null => {
  const found = label.exec(line);
  return found && firstCode(line.slice(found[0].length));
};

const label = /^[\s>]*(?:[-*+]\s+)?(?:\*\*|__)Verify:?(?:\*\*|__):?/i;

const firstCode = (text: string): string | null => {
  const opener = /`+/.exec(text);
  if (opener === null) return null;
  const start = opener.index + opener[0].length;
  const end = createClosing(text)(opener[0].length, opener.index);
  return (end === -1 ? '' : text.slice(start, end).trim()) || null;
};
