import { type Level, noScenario, type SpecIssue, statementIssues } from './check-main.ts';
import { conflictsIn } from './conflicts.ts';
import { type Delta, parseDelta } from './delta.ts';
import { hasScenario, type Requirement } from './headings.ts';
import { mergeSpec, strayRequirement } from './merge.ts';

/** An issue of a file. */
export interface Issue extends SpecIssue {
  /** Relative to the root, with `/`. */
  readonly file: string;
}

export interface DeltaFile {
  readonly capability: string;
  readonly file: string;
  readonly text: string;
  readonly mainFile: string;
  /** null if there is no main spec. */
  readonly main: string | null;
}

/** The rules for the spec of a change. What only the main spec decides is an info: another change may bring it. */
export const checkDelta = (given: DeltaFile, { change, retire }: { change: string; retire: boolean }): Issue[] => {
  const { file, mainFile, text } = given;
  const delta = parseDelta(text);
  const found = [...sectionIssues(delta), ...conflictIssues(delta), ...contentIssues(delta)];
  const merge = mergeSpec({ ...given, change, delta: text, retire });
  const refusals = merge.kind === 'refused' ? merge.refusals : [];
  const known = new Set(found.map(({ message }) => message));
  const hasErrors = found.some(({ level }) => level === 'error');
  const merging = refusals
    .filter(({ message, dropsScenario }) => !known.has(message) && (dropsScenario === true || !hasErrors))
    .map(({ file: which, line, message, dropsScenario }): Issue => ({
      level: dropsScenario === true ? 'error' : 'info',
      file: which === 'main' ? mainFile : file,
      line,
      message: dropsScenario === true ? message : `spool archive would refuse this: ${message}`,
    }));
  return [...found.map((each) => ({ file, ...each })), ...merging].toSorted(byPlace);
};

const issue = (level: Level, line: number | null, message: string): SpecIssue => ({ level, line, message });

/** An empty section is an error only if the others are empty as well. */
const sectionIssues = ({ sections, isEmpty, strays, headings }: Delta): SpecIssue[] => [
  ...(sections.length > 0 ? [] : [issue('error', null, noSection)]),
  ...(isEmpty ? sections : []).map(({ operation, line }) =>
    issue('error', line, `"## ${operation} Requirements" has no requirement.`),
  ),
  ...strays.map(({ name, line }) => issue('warning', line, strayRequirement(name))),
  ...headings.map(({ name, line }) =>
    issue('info', line, `"${name}" names no requirement. Write "### Requirement: …" if it should.`),
  ),
];

const noSection = 'There is no delta section. Add one, such as "## ADDED Requirements".';

const conflictIssues = (delta: Delta): SpecIssue[] =>
  conflictsIn(delta).map(({ line, message }) => issue('error', line, message));

const contentIssues = ({ added, modified }: Delta): SpecIssue[] => [
  ...added.flatMap((each) => requirementIssues(each, 'ADDED:')),
  ...modified.flatMap((each) => requirementIssues(each, 'MODIFIED:')),
];

const requirementIssues = (requirement: Requirement, kind: string): SpecIssue[] => [
  ...statementIssues(requirement, kind),
  ...(hasScenario(requirement) ? [] : [issue('error', requirement.line, noScenario(kind, requirement.name))]),
];

/** By file, then by line; what is about a whole file comes first. */
export const byPlace = (a: Issue, b: Issue): number =>
  a.file === b.file ? (a.line ?? 0) - (b.line ?? 0) : a.file < b.file ? -1 : 1;
