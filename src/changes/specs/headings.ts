import { isBlank, type Line } from './lines.ts';

/** A requirement of a spec: the lines from its heading to the next requirement or section. */
export interface Requirement {
  readonly name: string;
  /** The number of the line with its heading. */
  readonly line: number;
  readonly lines: readonly Line[];
}

export interface Section {
  /** null for what is above the first heading. */
  readonly heading: Line | null;
  readonly title: string;
  /** Without the heading. */
  readonly lines: readonly Line[];
}

/** Splits a file at its `##` headings. */
export const sectionsIn = (lines: readonly Line[]): Section[] => {
  const starts = lines.flatMap((line, index) => (sectionTitle(line) === null ? [] : [index]));
  const first = { heading: null, title: '', lines: lines.slice(0, starts[0] ?? lines.length) };
  const others = starts.map((start, at) => ({
    heading: lines[start]!,
    title: sectionTitle(lines[start]!)!,
    lines: lines.slice(start + 1, starts[at + 1] ?? lines.length),
  }));
  return [first, ...others];
};

const sectionTitle = (line: Line): string | null => (line.isCode ? null : textAfter(/^##\s+(?=\S)/, line.text));

/** Splits the lines of a section at the headings of its requirements. */
export const requirementsIn = (
  lines: readonly Line[],
): { readonly before: readonly Line[]; readonly requirements: Requirement[] } => {
  const starts = lines.flatMap((line, index) => (requirementName(line) === null ? [] : [index]));
  const requirements = starts.map((start, at) => ({
    name: requirementName(lines[start]!)!,
    line: lines[start]!.number,
    lines: lines.slice(start, starts[at + 1] ?? lines.length),
  }));
  return { before: lines.slice(0, starts[0] ?? lines.length), requirements };
};

/** The name in `### Requirement: <name>`; null if the line is no such heading. */
export const requirementName = (line: Line): string | null => {
  const name = line.isCode ? null : textAfter(requirementStart, line.text);
  return name === null ? null : withoutClosing(name) || null;
};

const requirementStart = /^###\s*Requirement:\s*(?=\S)/i;

/** The text of a `###` heading that names no requirement; null for any other line. */
export const otherHeading = (line: Line): string | null => {
  if (line.isCode || requirementName(line) !== null) return null;
  return /^###(?!#)\s*\S/.test(line.text) ? line.text.trim() : null;
};

/** Whether a requirement has a heading of the fourth level with text below it. */
export const hasScenario = ({ lines }: Requirement): boolean => {
  let isInScenario = false;
  return lines.some((line) => {
    const level = levelOf(line);
    if (level === null || level > 4) return isInScenario && !isBlank(line);
    isInScenario = level === 4;
    return false;
  });
};

export const hasText = (lines: readonly Line[]): boolean => lines.some((line) => !isBlank(line));

/** The names of the scenarios of a requirement. */
export const scenarioNames = ({ lines }: Requirement): string[] => lines.flatMap((line) => scenarioName(line) ?? []);

/** The name in `#### Scenario: <name>`; null for any other line. `####Scenario: …` is no heading, and yet nothing that may get lost. */
export const scenarioName = ({ text, isCode }: Pick<Line, 'text' | 'isCode'>): string | null => {
  const name = isCode ? null : textAfter(/^####(?:\s+|(?=Scenario:))/i, text);
  return name === null ? null : withoutClosing(name.replace(/^Scenario:/i, ''));
};

/** The number of `#` before a heading; null for any other line. */
export const levelOf = ({ text, isCode }: Pick<Line, 'text' | 'isCode'>): number | null =>
  isCode ? null : (/^(#{1,6})\s/.exec(text)?.[1]!.length ?? null);

/** The lines of a section above a heading of the first level, which ends it. */
export const ownLines = ({ lines }: Section): readonly Line[] => {
  const end = lines.findIndex((line) => levelOf(line) === 1);
  return end === -1 ? lines : lines.slice(0, end);
};

/** What a requirement says above the first heading in it, without code. Fields such as `**ID**: …` count if there is nothing else. */
export const statementOf = ({ lines }: Requirement): string => {
  const end = lines.findIndex((line, index) => index > 0 && levelOf(line) !== null);
  const texts = lines
    .slice(1, end === -1 ? lines.length : end)
    .filter((line) => !line.isCode && !isBlank(line))
    .map(({ text }) => text.trim());
  const sentences = texts.filter((text) => !/^\*\*[^*]+\*\*:/.test(text));
  return (sentences.length > 0 ? sentences : texts).join('\n');
};

/** Names that differ only in case or whitespace are easily mistaken for each other. */
export const foldName = (name: string): string => name.normalize('NFC').toLowerCase().replaceAll(/\s+/g, ' ');

/** What follows a pattern at the start of a text, without blanks at its end; null if it does not start like this. */
export const textAfter = (start: RegExp, text: string): string | null => {
  const found = start.exec(text);
  return found && text.slice(found[0].length).trimEnd();
};

/** Without the marks that may close a heading, as in `### Title ###`. */
export const withoutClosing = (text: string): string => {
  const trimmed = text.trim();
  let end = trimmed.length;
  while (trimmed[end - 1] === '#') end--;
  const isClosed = end < trimmed.length && (end === 0 || /\s/.test(trimmed[end - 1]!));
  return isClosed ? trimmed.slice(0, end).trimEnd() : trimmed;
};
