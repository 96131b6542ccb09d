import { isBlank, type Line } from './lines.ts';
import { hasText, levelOf, ownLines, type Requirement, requirementName, statementOf } from './headings.ts';
import { isPurpose, type MainSpec, structureProblems } from './main-spec.ts';

export type Level = 'error' | 'warning' | 'info';

export interface SpecIssue {
  readonly level: Level;
  /** null if it is about the whole file. */
  readonly line: number | null;
  readonly message: string;
}

const shortestPurpose = 50;
const maxStatement = 500;

/** The rules for main specs. */
export const checkMainSpec = (main: MainSpec): SpecIssue[] => [
  ...purposeIssues(main),
  ...requirementIssues(main),
  ...structureProblems(main).map((problem) => ({ level: 'error' as const, ...problem })),
];

const purposeIssues = (main: MainSpec): SpecIssue[] => {
  const section = main.sections.find(isPurpose);
  const text = purposeOf(main);
  const line = section?.heading?.number ?? null;
  if (text === '') return [{ level: 'error', line, message: 'There is no purpose. Add a section "## Purpose".' }];
  if (placeholder.test(text))
    return [{ level: 'warning', line, message: 'The purpose is a placeholder. Say what this capability is for.' }];
  if (text.length >= shortestPurpose) return [];
  return [{ level: 'warning', line, message: `The purpose is shorter than ${shortestPurpose} characters.` }];
};

const placeholder = /^(?:TBD|TODO)\b/i;

/** The text of the purpose on one line; empty if there is none. */
export const purposeOf = ({ sections }: MainSpec): string => {
  const section = sections.find(isPurpose);
  return (section === undefined ? [] : ownLines(section))
    .filter((line) => !isBlank(line))
    .map((line) => line.text.trim())
    .join(' ');
};

const requirementIssues = ({ requirementsSection: section, requirements }: MainSpec): SpecIssue[] => {
  if (section === null)
    return [{ level: 'error', line: null, message: 'There is no section "## Requirements". Add it.' }];
  const all = headedParts(ownLines(section));
  if (all.length === 0)
    return [{ level: 'error', line: section.heading!.number, message: 'There is no requirement in this spec.' }];
  return [...all.flatMap(partIssues), ...requirements.flatMap((each) => statementIssues(each, 'Requirement'))];
};

/**
 * The parts below the headings of the highest level: in a main spec all of them count as requirements, and all parts of
 * these as scenarios.
 */
const headedParts = (lines: readonly Line[]): Requirement[] => {
  let level = Infinity;
  const starts = lines.flatMap((line, index) => {
    const own = levelOf(line) ?? (requirementName(line) === null ? Infinity : requirementLevel);
    if (own > level || own === Infinity) return [];
    level = own;
    return [index];
  });
  return starts.map((start, at) => ({
    name: requirementName(lines[start]!) ?? lines[start]!.text.replace(/^#+\s*/, '').trim(),
    line: lines[start]!.number,
    lines: lines.slice(start, starts[at + 1] ?? lines.length),
  }));
};

const requirementLevel = 3;

const partIssues = (part: Requirement): SpecIssue[] => {
  const { name, line, lines } = part;
  const hasScenario = headedParts(lines.slice(1)).some((each) => hasText(each.lines.slice(1)));
  return [
    ...(hasScenario ? [] : [{ level: 'error' as const, line, message: noScenario('Requirement', name) }]),
    ...(statementOf(part).length > maxStatement
      ? [
          {
            level: 'info' as const,
            line,
            message: `Requirement "${name}" is longer than ${maxStatement} characters.`,
          },
        ]
      : []),
  ];
};

export const noScenario = (kind: string, name: string): string =>
  `${kind} "${name}" has no scenario. Add "#### Scenario: …" with steps below it.`;

/** What is wrong with the text of a requirement above its scenarios. */
export const statementIssues = (requirement: Requirement, kind: string): SpecIssue[] => {
  const { name, line } = requirement;
  const statement = statementOf(requirement);
  if (isNormative(statement)) return [];
  if (statement !== '') return [{ level: 'warning', line, message: `${kind} "${name}" has no SHALL or MUST.` }];
  const message = isNormative(name)
    ? `${kind} "${name}" says SHALL or MUST only in its heading. Write the sentence below it.`
    : `${kind} "${name}" has no text. Write below the heading what the system SHALL do.`;
  return [{ level: 'error', line, message }];
};

/** Whether a text says what must be, in the words of RFC 2119. */
const isNormative = (text: string): boolean => /\b(?:SHALL|MUST)\b/.test(text);
