import { cleanText } from './promise/clean.ts';

/**
 * Returns the findings in the last message of a reviewer: the items of its list, or of the one below the last heading
 * that announces findings. If the work did not pass, a message without a list is one finding; if it did, only what is
 * below such a heading is one.
 */
export const findingsIn = (message: string, verdict: 'pass' | 'fail'): string[] => {
  const lines = cleanText(message)
    .replaceAll(/<verdict>[^<]*<\/verdict>/gi, '')
    .split('\n');
  const heading = lines.findLastIndex(announcesFindings);
  if (verdict === 'pass' && heading === -1) return [];
  const items = itemsIn(lines.slice(heading + 1));
  if (items.length > 0) return items.filter((item) => !saysNone.test(item));
  const text = lines
    .slice(heading + 1)
    .join('\n')
    .trim();
  return text === '' || saysNone.test(text) ? [] : [text];
};

/** `## Findings`, `**Findings:**`. */
const announcesFindings = (line: string): boolean => /^[\s#*_>]*(?:findings|issues|problems)[\s:*_]*$/i.test(line);

const saysNone = /^[\s*_]*(?:none|nothing|no (?:findings|issues|problems)(?: found)?)[\s.*_]*$/i;

const item = /^ {0,3}(?:[-*+•]|\d{1,3}[.)])\s+(\S.*)$/;

/** An item continues until the next one, a heading, or a blank line, unless an indented line follows that. */
const itemsIn = (lines: readonly string[]): string[] => {
  const items: string[] = [];
  let isOpen = false;
  let isBlank = false;
  for (const line of lines) {
    const start = item.exec(line)?.[1];
    const continues: boolean = isOpen && !/^\s*#/.test(line) && (!isBlank || /^\s/.test(line));
    if (line.trim() === '') {
      isBlank = true;
      continue;
    }
    if (start !== undefined) items.push(start.trim());
    else if (continues) items.push(`${items.pop()} ${line.trim()}`);
    isOpen = start !== undefined || continues;
    isBlank = false;
  }
  return items;
};
