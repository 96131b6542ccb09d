import { textInside } from '../files/inside.ts';
import type { Change } from './source.ts';

/** The first heading of a proposal, in one line; null if it has none, or is still the template. */
export const titleOf = (change: Change, root: string): string | null => {
  const text = textInside(root, change.proposalFile);
  if (text === null || change.isTemplate(text)) return null;
  const heading = /^#{1,6}[ \t]+(\S.*)$/m.exec(text)?.[1];
  return heading === undefined ? null : heading.replace(/[ \t]#+[ \t]*$/, '').trim();
};
