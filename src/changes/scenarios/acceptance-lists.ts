import { withoutClosing } from '../specs/headings.ts';
import { isBox } from '../tasks/parse.ts';
import { type ShownLine, shownLines } from '../tasks/visible-lines.ts';
import { splitGivenId } from './slug.ts';
import { criterionText } from './text-hash.ts';
import { verifyCommand } from './verify-lines.ts';

/** A criterion of a list such as `## Acceptance Criteria`. */
export interface ListedCriterion {
  /** The title of the heading that the list belongs to; null if there is none. */
  readonly heading: string | null;
  /** The level of this heading; 0 if there is none. */
  readonly level: number;
  /** An id in front of its text, such as `AC-1` or the `1` of `#1`. */
  readonly id: string | null;
  /** The number of its item: `2` or `1.2`. null if it has none, or another item has it too. */
  readonly number: string | null;
  /** The first sentence or line. */
  readonly title: string;
  readonly text: string;
  readonly line: number;
  readonly verify: readonly string[];
}

/** The criteria below all headings and labels such as `**Acceptance Scenarios**:`. `isTitle` tells which other titles count. */
export const acceptanceCriteria = (
  markdown: string,
  isTitle: (title: string) => boolean = () => false,
): ListedCriterion[] =>
  listsIn(markdown, (title) => acceptance.test(title) || isTitle(title)).flatMap((list) => criteriaOf(list));

const acceptance = /^(?:User )?Acceptance (?:Criteria|Criterion|Scenarios?|Tests?)\b/i;

interface List {
  readonly heading: string | null;
  readonly level: number;
  /** A heading in the section, which may be a criterion itself. */
  readonly own: ShownLine | null;
  /** Whether it is below a label, where only the first list counts. */
  readonly isLabelled: boolean;
  readonly lines: ShownLine[];
}

interface Heading {
  readonly level: number;
  readonly title: string;
}

/** Splits the sections with criteria at the headings in them. */
const listsIn = (markdown: string, isTitle: (title: string) => boolean): List[] => {
  const lists: List[] = [];
  const above: Heading[] = [];
  /** The level of the heading of the current section with criteria; 7 if it is a label. */
  let inside: number | null = null;
  const open = (own: ShownLine | null) => {
    const heading = above.at(-1) ?? null;
    const isLabelled = inside === labelLevel;
    lists.push({ heading: heading?.title ?? null, level: heading?.level ?? 0, own, isLabelled, lines: [] });
  };
  for (const shown of shownLines(markdown)) {
    const heading = shown.isCode ? null : headingOf(shown.line);
    const label = shown.isCode || heading !== null ? null : labelOf(shown.line);
    if (heading !== null) {
      if (inside !== null && heading.level > inside) {
        open(shown);
        continue;
      }
      while (above.length > 0 && above.at(-1)!.level >= heading.level) above.pop();
      inside = isTitle(heading.title) ? heading.level : null;
      if (inside === null) above.push(heading);
      else open(null);
    } else if (label?.isAlone && isTitle(label.title)) {
      inside ??= labelLevel;
      open(null);
    } else if (label !== null && inside === labelLevel) inside = null;
    else if (inside !== null) lists.at(-1)!.lines.push(shown);
  }
  return lists;
};

/** Below all levels of headings: any heading ends what a label begins. */
const labelLevel = 7;

const headingOf = (line: string): Heading | null => {
  const found = /^ {0,3}(#{1,6})[ \t]+(?=\S)/.exec(line);
  if (found === null) return null;
  return { level: found[1]!.length, title: withoutClosing(line.slice(found[0].length)) };
};

/** `**Label**: text` or `**Label:** text`. An id such as `**AC-1**:` is none. */
const labelOf = (line: string): { readonly title: string; readonly isAlone: boolean } | null => {
  const found = /^ {0,3}\*\*([^*]{1,80})\*\*:?(?=\s|$)/.exec(line);
  if (found === null || splitGivenId(line.trim()).id !== null) return null;
  const behind = line.slice(found[0].length).trim();
  const hasColon = found[1]!.endsWith(':') || found[0].endsWith(':');
  if (!hasColon && behind !== '') return null;
  return { title: found[1]!.replace(/:$/, '').trim(), isAlone: behind === '' || /^[*_(]/.test(behind) };
};

const criteriaOf = ({ heading, level, own, isLabelled, lines }: List): ListedCriterion[] => {
  const all = itemsIn(lines);
  const items = isLabelled ? all.slice(0, endOfFirst(all)) : all;
  const counts = new Map<string | null, number>();
  for (const { number } of items) counts.set(number, (counts.get(number) ?? 0) + 1);
  const group = own === null ? null : headingOf(own.line)!.title;
  const at = { heading: group ?? heading, level: own === null ? level : headingOf(own.line)!.level };
  if (items.length > 0)
    return items.map((item) => ({
      ...at,
      ...contentOf(item),
      number: counts.get(item.number) === 1 ? item.number : null,
    }));
  if (own === null || lines.every(({ line }) => line.trim() === '')) return [];
  return [{ heading, level, ...contentOf({ first: group!, lines, line: own.index + 1 }), number: null }];
};

/** Where another list begins: behind a paragraph, or with other marks. */
const endOfFirst = (items: readonly Item[]): number => {
  const end = items.findIndex(
    ({ isFirst, number }, at) => at > 0 && (isFirst || (number === null) !== (items[0]!.number === null)),
  );
  return end === -1 ? items.length : end;
};

interface Item {
  readonly number: string | null;
  /** Whether there is a paragraph between it and the item before. */
  readonly isFirst: boolean;
  /** Without the marker and the box. */
  readonly first: string;
  /** Those below the first. */
  readonly lines: ShownLine[];
  readonly line: number;
}

/** The items of the outermost list. What is indented below an item belongs to it. */
const itemsIn = (lines: readonly ShownLine[]): Item[] => {
  const items: Item[] = [];
  let indent: number | null = null;
  let isOpen = false;
  let isAfterBlank = false;
  for (const shown of lines) {
    const found = shown.isCode ? null : itemStart(shown.line);
    if (found !== null && (indent === null || found.indent <= indent)) {
      indent = Math.min(indent ?? found.indent, found.indent);
      items.push({ number: found.number, isFirst: !isOpen, first: found.text, lines: [], line: shown.index + 1 });
      isOpen = true;
    } else {
      // A paragraph behind the list does not belong to its last item.
      if (isAfterBlank && /^\S/.test(shown.line)) isOpen = false;
      if (isOpen) items.at(-1)!.lines.push(shown);
    }
    isAfterBlank = shown.line.trim() === '';
  }
  return items;
};

interface Start {
  readonly indent: number;
  readonly number: string | null;
  readonly text: string;
}

/** An item of a list, a line with a number such as `1.2`, or one with an id such as `**AC1:**`. */
const itemStart = (line: string): Start | null => {
  const found = /^([\s>]*)(?:[-*+]\s+(?=\S)|(\d{1,9}(?:\.\d{1,9}){0,3})(?:[.)]\s+|\s+)(?=\S))/.exec(line);
  if (found === null) {
    const text = line.trim();
    return splitGivenId(text).id === null
      ? null
      : { indent: line.length - line.trimStart().length, number: null, text };
  }
  const text = line.slice(found[0].length).trim();
  // A sentence may begin with a number: one without a dot in it needs one behind it.
  if (found[2] !== undefined && !found[2].includes('.') && !/[.)]\s/.test(found[0])) return null;
  return { indent: found[1]!.length, number: found[2] ?? null, text: isBox(line) ? withoutBox(text) : text };
};

const withoutBox = (text: string): string => text.replace(/^\[[^\]]*\]\*?\s*/, '');

const contentOf = ({ first, lines, line }: Omit<Item, 'number' | 'isFirst'>) => {
  const { id, rest } = splitGivenId(first);
  return {
    id,
    title: titleOf(rest),
    text: criterionText(rest, lines),
    line,
    verify: lines.flatMap((each) => (each.isCode ? [] : (verifyCommand(each.line) ?? []))),
  };
};

/** Characters. */
const maxTitle = 200;

/** The line without marks of emphasis and code. A long one is cut between words. */
const titleOf = (text: string): string => {
  const plain = text.replaceAll(/\*\*|__|`/g, '').trim();
  if (plain.length <= maxTitle) return plain;
  const end = plain.lastIndexOf(' ', maxTitle);
  return `${plain.slice(0, end === -1 ? 0 : end)}…`;
};
