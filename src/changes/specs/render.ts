import type { Requirement } from './headings.ts';
import { isBlank, rawOf, readLines, tidyTexts, withoutBlankEnd } from './lines.ts';
import type { MainSpec } from './main-spec.ts';

/** A requirement while a main spec is edited. */
export interface Part {
  readonly name: string;
  /** Its text with line endings. */
  readonly raw: string;
  /** The requirement of the main spec that it replaces; null for a new one. */
  readonly original: Requirement | null;
}

/** Most lines of a text end like this. */
export const lineEndOf = (text: string): string => {
  const count = (end: string) => text.split(end).length - 1;
  return count('\r\n') * 2 > count('\n') ? '\r\n' : '\n';
};

export const keptPart = (original: Requirement): Part => ({
  name: original.name,
  raw: rawOf(original.lines),
  original,
});

export const newPart = ({ name, lines }: Requirement, lineEnd: string): Part => ({
  name,
  raw: `${tidyTexts(lines).join(lineEnd)}${lineEnd}`,
  original: null,
});

/** The part with the text of another requirement. The blank lines behind it are kept. */
export const replacedPart = (part: Part, requirement: Requirement, lineEnd: string): Part => {
  const { raw } = newPart(requirement, lineEnd);
  return { ...part, raw: `${raw}${blankEndOf(part.raw)}` };
};

/** The part with another heading. */
export const renamedPart = (part: Part, name: string): Part => {
  const [heading, ...rest] = readLines(part.raw);
  const lineEnd = heading!.raw.slice(heading!.text.length);
  return { ...part, name, raw: `### Requirement: ${name}${lineEnd}${rawOf(rest)}` };
};

/** Whether a part says the same as a requirement, regardless of line endings and the number of blank lines. */
export const saysTheSame = ({ raw }: Part, { lines }: Requirement): boolean =>
  tidyTexts(readLines(raw)).join('\n') === tidyTexts(lines).join('\n');

/** The main spec with other requirements. What was not edited keeps its bytes. */
export const renderSpec = (main: MainSpec, parts: readonly Part[], lineEnd: string): string => {
  const positions = new Map(main.requirements.map((each, index) => [each, index]));
  const positionOf = ({ original }: Part) => (original === null ? null : (positions.get(original) ?? null));
  const last = main.requirements.length;
  const tail = rawOf(main.tail);
  const pieces: readonly Piece[] = [
    { raw: headOf(main, lineEnd), position: main.requirementsSection === null ? null : -1 },
    ...parts.map((part) => ({ raw: part.raw, position: positionOf(part) })),
    ...(tail === '' ? [] : [{ raw: tail, position: last }]),
  ];
  return pieces.map((piece, index) => endPiece(piece, pieces[index + 1] ?? null, { last, tail, lineEnd })).join('');
};

interface Piece {
  readonly raw: string;
  /** Where it was in the main spec; null for a new one. */
  readonly position: number | null;
}

interface Ending {
  readonly last: number;
  readonly tail: string;
  readonly lineEnd: string;
}

/** Neighbours that were neighbours before keep what is between them. Others are separated by a blank line. */
const endPiece = ({ raw, position }: Piece, next: Piece | null, { last, tail, lineEnd }: Ending): string => {
  const text = raw.slice(0, raw.length - blankEndOf(raw).length).replace(/(?:\r\n?|\n)$/, '');
  if (next !== null) return isNext(position, next.position) ? raw : `${text}${lineEnd}${lineEnd}`;
  const wasLast = position === (tail === '' ? last - 1 : last);
  return wasLast ? raw : `${text}${lineEnd}`;
};

const isNext = (position: number | null, next: number | null): boolean =>
  position !== null && next !== null && position + 1 === next;

const headOf = ({ head, requirementsSection }: MainSpec, lineEnd: string): string => {
  if (requirementsSection !== null) return rawOf(head);
  const text = rawOf(withoutBlankEnd(head)).replace(/(?:\r\n?|\n)$/, '');
  return `${text}${text === '' ? '' : lineEnd.repeat(2)}## Requirements${lineEnd}`;
};

/** The blank lines at the end of a text. */
const blankEndOf = (raw: string): string => {
  const lines = readLines(raw);
  return rawOf(lines.slice(lines.findLastIndex((line) => !isBlank(line)) + 1));
};
