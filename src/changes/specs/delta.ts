import {
  otherHeading,
  type Requirement,
  requirementName,
  requirementsIn,
  type Section,
  sectionsIn,
  textAfter,
} from './headings.ts';
import { isBlank, type Line, openBlockIn, readLines, withoutComments } from './lines.ts';

const operations = ['ADDED', 'MODIFIED', 'REMOVED', 'RENAMED'] as const;
export type Operation = (typeof operations)[number];

interface Named {
  readonly name: string;
  readonly line: number;
}

interface Rename {
  readonly from: string;
  readonly to: string;
  readonly line: number;
}

/** A spec of a change: what it adds to a main spec, changes, removes and renames. Anything can be parsed. */
export interface Delta {
  readonly added: readonly Requirement[];
  readonly modified: readonly Requirement[];
  readonly removed: readonly Named[];
  readonly renamed: readonly Rename[];
  readonly sections: readonly DeltaSection[];
  /** Whether no section says anything. */
  readonly isEmpty: boolean;
  /** FROM: and TO: lines without their counterpart. */
  readonly unpaired: readonly (Named & { readonly keyword: 'FROM' | 'TO' })[];
  /** Requirements outside of delta sections, with the title of the section; null above the first one. */
  readonly strays: readonly (Named & { readonly section: string | null })[];
  /** Headings of the third level in a delta section that name no requirement. */
  readonly headings: readonly (Named & { readonly operation: Operation })[];
  /** The text of `## Purpose`, for a spec that does not exist yet. */
  readonly purpose: string | null;
  /** The line of a code block that is not closed. */
  readonly openBlock: number | null;
}

interface DeltaSection {
  readonly operation: Operation;
  readonly line: number;
}

export const parseDelta = (text: string): Delta => {
  const sections = sectionsIn(readLines(text));
  const parsed = sections.flatMap((section) => {
    const operation = operationOf(section);
    return operation === null ? [] : [parseSection(section, operation)];
  });
  return {
    added: parsed.flatMap((each) => each.added),
    modified: parsed.flatMap((each) => each.modified),
    removed: parsed.flatMap((each) => each.removed),
    renamed: parsed.flatMap((each) => each.renamed),
    sections: parsed.map((each) => each.section),
    isEmpty: parsed.every((each) => each.isEmpty),
    unpaired: parsed.flatMap((each) => each.unpaired),
    strays: sections.flatMap((section) => (operationOf(section) === null ? straysIn(section) : [])),
    headings: parsed.flatMap((each) => each.headings),
    purpose: purposeIn(text),
    openBlock: openBlockIn(text),
  };
};

/** The title must be exact except for its case: with two blanks in it, OpenSpec does not recognise it either. */
export const operationOf = ({ heading, title }: Section): Operation | null =>
  heading === null
    ? null
    : (operations.find((each) => title.toUpperCase() === `${each} Requirements`.toUpperCase()) ?? null);

const parseSection = (section: Section, operation: Operation) => {
  const { requirements } = requirementsIn(section.lines);
  const { renamed, unpaired } = operation === 'RENAMED' ? renamesIn(section.lines) : { renamed: [], unpaired: [] };
  const removed = operation === 'REMOVED' ? removalsIn(section.lines) : [];
  const added = operation === 'ADDED' ? requirements : [];
  const modified = operation === 'MODIFIED' ? requirements : [];
  return {
    added,
    modified,
    removed,
    renamed,
    unpaired,
    section: { operation, line: section.heading!.number },
    isEmpty: added.length + modified.length + removed.length + renamed.length === 0,
    headings:
      operation === 'ADDED' || operation === 'MODIFIED'
        ? section.lines.flatMap((line) => {
            const name = otherHeading(line);
            return name === null ? [] : [{ name, line: line.number, operation }];
          })
        : [],
  };
};

/** A removed requirement is a heading or an item of a list. */
const removalsIn = (lines: readonly Line[]): Named[] =>
  lines.flatMap((line) => {
    const name = requirementName(line) ?? (line.isCode ? null : quotedName(/^\s*[-*+]\s*/, line));
    return name === null ? [] : [{ name, line: line.number }];
  });

/** The name in a heading that is quoted in a line of text, with or without backticks on either side. */
const quotedName = (start: RegExp, line: Line): string | null => {
  const quoted = textAfter(start, line.text);
  if (quoted === null) return null;
  return requirementName({ ...line, text: quoted.replace(/^`/, '').replace(/`$/, '') });
};

const renamesIn = (lines: readonly Line[]): Pick<Delta, 'renamed' | 'unpaired'> => {
  const renamed: Rename[] = [];
  const unpaired: Delta['unpaired'][number][] = [];
  let from: Named | null = null;
  for (const line of lines.filter(({ isCode }) => !isCode)) {
    const source = quotedName(/^\s*(?:[-*+]\s*)?FROM:\s*/, line);
    const target = quotedName(/^\s*(?:[-*+]\s*)?TO:\s*/, line);
    if (source !== null) {
      if (from !== null) unpaired.push({ ...from, keyword: 'FROM' });
      from = { name: source, line: line.number };
    } else if (target !== null && from !== null) {
      renamed.push({ from: from.name, to: target, line: from.line });
      from = null;
    } else if (target !== null) unpaired.push({ name: target, line: line.number, keyword: 'TO' });
  }
  if (from !== null) unpaired.push({ ...from, keyword: 'FROM' });
  return { renamed, unpaired };
};

const straysIn = ({ heading, lines }: Section): Delta['strays'] =>
  requirementsIn(lines).requirements.map(({ name, line }) => ({
    name,
    line,
    section: heading === null ? null : heading.text.trim(),
  }));

/** Returns null for a purpose without a sentence outside of code and comments. */
const purposeIn = (text: string): string | null => {
  const shown = sectionsIn(readLines(withoutComments(text)));
  const found = shown.find(({ heading, title }) => heading !== null && title.toLowerCase() === 'purpose');
  if (found === undefined || found.lines.every((line) => line.isCode || isBlank(line))) return null;
  const start = found.heading!.number;
  return readLines(text)
    .slice(start, start + found.lines.length)
    .map((line) => line.text)
    .join('\n')
    .trim();
};
