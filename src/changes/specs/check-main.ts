import { isBlank, type Line } from './lines.ts';
import { otherHeading, type Requirement, requirementName, scenariosOf, statementOf } from './headings.ts';
import { isPurpose, type MainSpec, structureProblems } from './main-spec.ts';

export type Level = 'error' | 'warning' | 'info';

export interface SpecIssue {
  readonly level: Level;
  /** null if it is about the whole file. */
  readonly line: number | null;
  readonly message: string;
}

const shortestPurpose = 50;
const longestStatement = 500;

/** The rules for main specs. */
export const checkMainSpec = (main: MainSpec): SpecIssue[] => [
  ...purposeIssues(main),
  ...requirementIssues(main),
  ...structureProblems(main).map((problem) => ({ level: 'error' as const, ...problem })),
];

const purposeIssues = ({ sections }: MainSpec): SpecIssue[] => {
  const section = sections.find(isPurpose);
  const text = (section?.lines ?? [])
    .filter((line) => !isBlank(line))
    .map((line) => line.text.trim())
    .join(' ');
  const line = section?.heading?.number ?? null;
  if (text === '') return [{ level: 'error', line, message: 'There is no purpose. Add a section "## Purpose".' }];
  if (placeholder.test(text))
    return [{ level: 'warning', line, message: 'The purpose is a placeholder. Say what this capability is for.' }];
  if (text.length >= shortestPurpose) return [];
  return [{ level: 'warning', line, message: `The purpose is shorter than ${shortestPurpose} characters.` }];
};

const placeholder = /^(?:TBD|TODO)\b/i;

const requirementIssues = (main: MainSpec): SpecIssue[] => {
  const section = main.requirementsSection;
  if (section === null)
    return [{ level: 'error', line: null, message: 'There is no section "## Requirements". Add it.' }];
  const all = headedParts(section.lines);
  if (all.length === 0)
    return [{ level: 'error', line: section.heading!.number, message: 'There is no requirement in this spec.' }];
  return all.flatMap((each) => statementIssues(each, 'Requirement'));
};

/** Every part below a heading of the third level: in a main spec all of them count as requirements. */
const headedParts = (lines: readonly Line[]): Requirement[] => {
  const nameOf = (line: Line) => requirementName(line) ?? otherHeading(line)?.replace(/^#+\s*/, '') ?? null;
  const starts = lines.flatMap((line, index) => (nameOf(line) === null ? [] : [index]));
  return starts.map((start, at) => ({
    name: nameOf(lines[start]!)!,
    line: lines[start]!.number,
    lines: lines.slice(start, starts[at + 1] ?? lines.length),
  }));
};

const statementIssues = (requirement: Requirement, kind: string): SpecIssue[] => {
  const { name, line } = requirement;
  const statement = statementOf(requirement);
  const hasScenario = scenariosOf(requirement).some(({ hasBody }) => hasBody);
  return [
    ...(hasScenario ? [] : [{ level: 'error' as const, line, message: noScenario(kind, name) }]),
    ...(isNormative(statement)
      ? []
      : [{ level: 'warning' as const, line, message: `${kind} "${name}" has no SHALL or MUST.` }]),
    ...(statement.length > longestStatement
      ? [{ level: 'info' as const, line, message: `${kind} "${name}" is longer than ${longestStatement} characters.` }]
      : []),
  ];
};

export const noScenario = (kind: string, name: string): string =>
  `${kind} "${name}" has no scenario. Add "#### Scenario: …" with steps below it.`;

/** Whether a text says what must be, in the words of RFC 2119. */
export const isNormative = (text: string): boolean => /\b(?:SHALL|MUST)\b/.test(text);
