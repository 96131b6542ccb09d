import { textInside } from '../files/inside.ts';
import { issueOf } from './issue-link.ts';
import type { Change } from './source.ts';
import { visibleTextOf } from './visible-text.ts';

const maxParagraphs = 3;

/** The first paragraphs of a proposal, each in one line: what the change is about. Empty if there are none. */
export const summaryOf = (change: Change, root: string): readonly string[] => {
  const text = textInside(root, change.proposalFile);
  if (text === null || change.isTemplate(text)) return [];
  // The text of an issue is quoted below a paragraph for the agent.
  const isIssue = issueOf(change, root) !== null;
  return visibleTextOf(text)
    .split(/\n(?:[ \t>]*\n)+/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '' && !/^(?:#{1,6} |```|~~~|\||---)/.test(paragraph))
    .filter((paragraph) => !isIssue || paragraph.startsWith('>'))
    .slice(0, maxParagraphs)
    .map((paragraph) => paragraph.replaceAll(/^[ \t]*>[ \t]?/gm, '').replaceAll(/\s+/g, ' '));
};
