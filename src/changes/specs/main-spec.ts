import { operationOf } from './delta.ts';
import { type Requirement, requirementsIn, type Section, sectionsIn } from './headings.ts';
import { type Line, openBlockIn, readLines } from './lines.ts';

/** A main spec, which says what is built. The raw text of its parts, joined, is the file. */
export interface MainSpec {
  /** Everything above the first requirement. */
  readonly head: readonly Line[];
  readonly requirements: readonly Requirement[];
  /** Everything behind the section with the requirements. */
  readonly tail: readonly Line[];
  readonly sections: readonly Section[];
  /** The line of a code block that is not closed. */
  readonly openBlock: number | null;
  /** null if there is no section with requirements. */
  readonly requirementsSection: Section | null;
}

export const parseMainSpec = (text: string): MainSpec => {
  const lines = readLines(text);
  const sections = sectionsIn(lines);
  const section = sections.find(isRequirements) ?? null;
  const whole = { sections, openBlock: openBlockIn(text) };
  if (section === null) return { ...whole, head: lines, requirements: [], tail: [], requirementsSection: null };
  const { before, requirements } = requirementsIn(section.lines);
  const start = section.heading!.number;
  return {
    ...whole,
    head: lines.slice(0, start + before.length),
    requirements,
    tail: lines.slice(start + section.lines.length),
    requirementsSection: section,
  };
};

const isRequirements = ({ heading, title }: Section): boolean =>
  heading !== null && title.toLowerCase() === 'requirements';

export const isPurpose = ({ heading, title }: Section): boolean =>
  heading !== null && title.toLowerCase() === 'purpose';

export interface SpecProblem {
  readonly line: number;
  readonly message: string;
}

/** Everything behind an open code block belongs to it, and would be lost or hidden with it. */
export const openBlock = (line: number | null): SpecProblem[] =>
  line === null
    ? []
    : [{ line, message: 'This code block is not closed, so everything below belongs to it. Close it.' }];

/** What makes a main spec ambiguous, so that merging into it could lose text. */
export const structureProblems = (main: MainSpec): SpecProblem[] => {
  const { sections, requirements, requirementsSection } = main;
  const first = new Map<string, number>();
  const duplicates = requirements.flatMap(({ name, line }) => {
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, line);
    return earlier === undefined
      ? []
      : [{ line, message: `Requirement "${name}" is already on line ${earlier}. Rename or delete one of them.` }];
  });
  const others = sections.filter((section) => section !== requirementsSection);
  const misplaced = others.flatMap((section) => [
    ...(operationOf(section) === null
      ? []
      : [
          {
            line: section.heading!.number,
            message: `"${section.heading!.text.trim()}" belongs in the spec of a change, not in a main spec.`,
          },
        ]),
    ...requirementsIn(section.lines).requirements.map(({ name, line }) => ({
      line,
      message: `Requirement "${name}" is not in the section "## Requirements". Move it there.`,
    })),
  ]);
  return [...openBlock(main.openBlock), ...duplicates, ...misplaced].toSorted((a, b) => a.line - b.line);
};
