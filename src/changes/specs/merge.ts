import { checkMainSpec } from './check-main.ts';
import { conflictsIn } from './conflicts.ts';
import { type Delta, parseDelta } from './delta.ts';
import { foldName, type Requirement, requirementsIn, scenariosOf } from './headings.ts';
import { isBlank, type Line } from './lines.ts';
import { isPurpose, type MainSpec, parseMainSpec, type SpecProblem, structureProblems } from './main-spec.ts';
import {
  keptPart,
  lineEndOf,
  newPart,
  type Part,
  renamedPart,
  renderSpec,
  replacedPart,
  saysTheSame,
} from './render.ts';

export interface MergeRequest {
  /** The path of the capability, such as `auth` or `shop/cart`. */
  readonly capability: string;
  /** The id of the change. */
  readonly change: string;
  /** The text of the main spec; null if there is none. */
  readonly main: string | null;
  /** The text of the spec of the change. */
  readonly delta: string;
  /** Whether a main spec without requirements may be deleted. */
  readonly retire: boolean;
}

export interface MergeCounts {
  readonly added: number;
  readonly modified: number;
  readonly removed: number;
  readonly renamed: number;
}

interface Refusal {
  /** Which of the two files has to be edited. */
  readonly file: 'delta' | 'main';
  readonly line: number | null;
  readonly message: string;
  /** Whether a scenario of the main spec would be lost. */
  readonly dropsScenario?: true;
}

/** About the delta. */
interface MergeWarning {
  readonly line: number | null;
  readonly message: string;
}

export type Merge =
  | {
      readonly kind: 'written';
      readonly text: string;
      readonly counts: MergeCounts;
      readonly warnings: readonly MergeWarning[];
    }
  | { readonly kind: 'unchanged'; readonly warnings: readonly MergeWarning[] }
  | { readonly kind: 'deleted'; readonly counts: MergeCounts; readonly warnings: readonly MergeWarning[] }
  | { readonly kind: 'refused'; readonly refusals: readonly Refusal[] };

/**
 * Applies the delta of a change to a main spec: renames, then removes, modifies and adds. Bytes of the main spec that the
 * delta is not about are kept. A delta that is merged already changes nothing.
 */
export const mergeSpec = (request: MergeRequest): Merge => {
  const delta = parseDelta(request.delta);
  const conflicts = conflictsIn(delta);
  if (conflicts.length > 0) return refused('delta', conflicts);
  if ([delta.added, delta.modified, delta.removed, delta.renamed].every(({ length }) => length === 0))
    return refused('delta', [{ line: null, message: 'It changes no requirement.' }]);
  const main = parseMainSpec(request.main ?? skeletonOf(request, delta));
  const problems = structureProblems(main);
  if (problems.length > 0) return refused('main', problems);
  const edited = request.main === null ? createParts(delta) : editParts(main, delta, lineEndOf(request.main));
  if (edited.refusals.length > 0 && !isMerged(main, delta)) return { kind: 'refused', refusals: edited.refusals };
  const warnings = [...edited.warnings, ...generalWarnings(request, delta, main)];
  const counts = edited.refusals.length > 0 ? noChanges : edited.counts;
  return settle({ request, delta, main }, { parts: edited.parts, counts, warnings });
};

const refused = (file: Refusal['file'], problems: readonly (SpecProblem | MergeWarning)[]): Merge => ({
  kind: 'refused',
  refusals: problems.map((problem) => ({ file, ...problem })),
});

const noChanges: MergeCounts = { added: 0, modified: 0, removed: 0, renamed: 0 };

/** A new main spec, in the form of OpenSpec, which recognises the placeholder of the purpose. */
const skeletonOf = ({ capability, change }: MergeRequest, { purpose }: Delta): string =>
  [
    `# ${capability} Specification`,
    '',
    '## Purpose',
    purpose ?? `TBD - created by archiving change ${change}. Update Purpose after archive.`,
    '',
    '## Requirements',
    '',
  ].join('\n');

interface Edited {
  readonly parts: readonly Part[];
  readonly counts: MergeCounts;
  readonly refusals: readonly Refusal[];
  readonly warnings: readonly MergeWarning[];
}

/** Only additions make sense for a spec that does not exist. */
const createParts = ({ added, modified, removed, renamed }: Delta): Edited => ({
  parts: added.map((each) => newPart(each, '\n')),
  counts: { ...noChanges, added: added.length },
  refusals: [
    ...renamed.map(({ from, line }) => missingSpec(`RENAMED: "${from}"`, line)),
    ...modified.map(({ name, line }) => missingSpec(`MODIFIED: "${name}"`, line)),
  ],
  warnings: removed.map(({ name, line }) => alreadyRemoved(name, line)),
});

const missingSpec = (what: string, line: number): Refusal => ({
  file: 'delta',
  line,
  message: `${what} cannot be found: there is no main spec yet. A new capability can only have ADDED requirements.`,
});

const alreadyRemoved = (name: string, line: number): MergeWarning => ({
  line,
  message: `REMOVED: "${name}" is not in the main spec, and counts as removed.`,
});

/** The main spec between two steps. Looking up a name takes the same time in a spec of any size. */
interface Editing {
  /** null for a removed one. */
  readonly parts: (Part | null)[];
  readonly byName: Map<string, number>;
  /** By name without case and blanks. */
  readonly byFold: Map<string, readonly number[]>;
  readonly counts: { -readonly [Name in keyof MergeCounts]: number };
  readonly refusals: Refusal[];
  readonly warnings: MergeWarning[];
  readonly lineEnd: string;
}

const editParts = (main: MainSpec, delta: Delta, lineEnd: string): Edited => {
  const editing: Editing = {
    parts: [],
    byName: new Map(),
    byFold: new Map(),
    counts: { ...noChanges },
    refusals: [],
    warnings: [],
    lineEnd,
  };
  for (const each of main.requirements) put(editing, editing.parts.length, keptPart(each));
  for (const each of delta.renamed) rename(editing, each);
  for (const each of delta.removed) remove(editing, each);
  for (const each of delta.modified) modify(editing, each);
  for (const each of delta.added) add(editing, each);
  return { ...editing, parts: editing.parts.filter((part) => part !== null) };
};

const put = ({ parts, byName, byFold }: Editing, index: number, part: Part): void => {
  const fold = foldName(part.name);
  parts[index] = part;
  byName.set(part.name, index);
  byFold.set(fold, [...(byFold.get(fold) ?? []), index]);
};

const take = ({ parts, byName, byFold }: Editing, index: number): Part => {
  const part = parts[index]!;
  const fold = foldName(part.name);
  parts[index] = null;
  byName.delete(part.name);
  byFold.set(
    fold,
    byFold.get(fold)!.filter((each) => each !== index),
  );
  return part;
};

const refuse = ({ refusals }: Editing, line: number, message: string): void => {
  refusals.push({ file: 'delta', line, message });
};

/** The name of a requirement that differs only in case or blanks. */
const alike = ({ parts, byFold }: Editing, name: string, except?: number): string | null => {
  const index = byFold.get(foldName(name))?.find((each) => each !== except);
  return index === undefined ? null : parts[index]!.name;
};

const notFound = (name: string, similar: string | null): string =>
  `there is no requirement "${name}" in the main spec${similar === null ? '.' : ` (did you mean "${similar}"?).`}`;

const rename = (editing: Editing, { from, to, line }: Delta['renamed'][number]): void => {
  const { byName } = editing;
  const source = byName.get(from);
  if (source === undefined && byName.has(to)) return;
  if (source === undefined) return refuse(editing, line, `RENAMED: ${notFound(from, alike(editing, from))}`);
  if (byName.has(to)) return refuse(editing, line, `RENAMED: there is a requirement "${to}" already.`);
  const similar = alike(editing, to, source);
  if (similar !== null)
    return refuse(editing, line, `RENAMED: "${to}" differs from "${similar}" only in case or blanks.`);
  put(editing, source, renamedPart(take(editing, source), to));
  editing.counts.renamed++;
};

const remove = (editing: Editing, { name, line }: Delta['removed'][number]): void => {
  const index = editing.byName.get(name);
  const similar = alike(editing, name);
  if (index === undefined && similar !== null) return refuse(editing, line, `REMOVED: ${notFound(name, similar)}`);
  if (index === undefined) return void editing.warnings.push(alreadyRemoved(name, line));
  take(editing, index);
  editing.counts.removed++;
};

const modify = (editing: Editing, requirement: Requirement): void => {
  const { name, line } = requirement;
  const index = editing.byName.get(name);
  if (index === undefined) return refuse(editing, line, `MODIFIED: ${notFound(name, alike(editing, name))}`);
  const part = editing.parts[index]!;
  const lost = lostScenarios(part.original!, requirement);
  if (lost.length > 0)
    return void editing.refusals.push({ file: 'delta', line, message: losing(name, lost), dropsScenario: true });
  if (saysTheSame(part, requirement)) return;
  editing.parts[index] = replacedPart(part, requirement, editing.lineEnd);
  editing.counts.modified++;
};

const add = (editing: Editing, requirement: Requirement): void => {
  const { name, line } = requirement;
  const index = editing.byName.get(name);
  if (index !== undefined && saysTheSame(editing.parts[index]!, requirement)) return;
  if (index !== undefined)
    return refuse(editing, line, `ADDED: there is a requirement "${name}" already, with another text. Use MODIFIED.`);
  const similar = alike(editing, name);
  if (similar !== null)
    return refuse(
      editing,
      line,
      `ADDED: "${name}" differs from "${similar}" only in case or blanks. Use MODIFIED with that name, or choose another.`,
    );
  put(editing, editing.parts.length, newPart(requirement, editing.lineEnd));
  editing.counts.added++;
};

/** The names of scenarios that a requirement has in the main spec and not in the delta. */
const lostScenarios = (before: Requirement, after: Requirement): string[] => {
  const left = new Map<string, number>();
  for (const { name } of scenariosOf(after)) left.set(name, (left.get(name) ?? 0) + 1);
  return scenariosOf(before)
    .map(({ name }) => name)
    .filter((name) => {
      const count = left.get(name) ?? 0;
      left.set(name, count - 1);
      return count <= 0;
    });
};

const losing = (name: string, lost: readonly string[]): string =>
  `MODIFIED: "${name}" would lose ${lost.length === 1 ? 'the scenario' : 'the scenarios'} ${lost
    .map((each) => `"${each}"`)
    .join(', ')}. MODIFIED replaces the whole requirement: copy what stays from the main spec.`;

/** Whether a main spec has everything that a delta leads to. An old name may be in use again after its rename. */
const isMerged = (main: MainSpec, { added, modified, removed, renamed }: Delta): boolean => {
  const names = new Map(main.requirements.map((each) => [each.name, keptPart(each)]));
  const folded = new Set([...names.keys()].map(foldName));
  const has = (requirement: Requirement) => {
    const part = names.get(requirement.name);
    return part !== undefined && saysTheSame(part, requirement);
  };
  const reused = new Set([...added.map(({ name }) => name), ...renamed.map(({ to }) => to)]);
  return (
    [...added, ...modified].every(has) &&
    removed.every(({ name }) => !folded.has(foldName(name))) &&
    renamed.every(({ from, to }) => from !== to && names.has(to) && (!names.has(from) || reused.has(from)))
  );
};

const generalWarnings = (
  { main: text }: MergeRequest,
  { strays, purpose }: Delta,
  { sections }: MainSpec,
): MergeWarning[] => [
  ...strays.map(({ name, line }) => ({ line, message: strayRequirement(name) })),
  ...(purpose !== null && text !== null && sections.some(isPurpose)
    ? [{ line: null, message: 'Its purpose is ignored, because the main spec has one. Edit it there.' }]
    : []),
];

export const strayRequirement = (name: string): string =>
  `Requirement "${name}" is in no delta section, so it is ignored. Move it below "## ADDED Requirements", for example.`;

interface Sources {
  readonly request: MergeRequest;
  readonly delta: Delta;
  readonly main: MainSpec;
}

/** Refuses what would not be a sound main spec. */
const settle = (sources: Sources, { parts, counts, warnings }: Omit<Edited, 'refusals'>): Merge => {
  const { request, main } = sources;
  const isUnchanged = Object.values(counts).every((count) => count === 0);
  if (request.main === null && parts.length === 0 && request.retire) return { kind: 'unchanged', warnings };
  if (request.main !== null && parts.length === 0 && !isUnchanged) return retireSpec(sources, { counts, warnings });
  if (isUnchanged && request.main !== null) return checked(sources, request.main, { kind: 'unchanged', warnings });
  const text = renderSpec(main, parts, lineEndOf(request.main ?? ''));
  const names = parseMainSpec(text).requirements.map(({ name }) => name);
  if (names.join('\n') !== parts.map(({ name }) => name).join('\n'))
    return refused('delta', [
      { line: null, message: 'A code block that is not closed would hide requirements. Close it.' },
    ]);
  return checked(sources, text, { kind: 'written', text, counts, warnings });
};

/** Deletes a spec without requirements if the change says so and nothing else is lost with it. */
const retireSpec = ({ request, main }: Sources, { counts, warnings }: Pick<Edited, 'counts' | 'warnings'>): Merge => {
  if (!request.retire) return refused('delta', [{ line: null, message: lastRequirement }]);
  const others = main.sections.filter((section) => section !== main.requirementsSection && !isPurpose(section));
  const other = others.find(({ lines }) => hasText(lines));
  const preamble = requirementsIn(main.requirementsSection?.lines ?? []).before;
  if (other === undefined && !hasText(preamble)) return { kind: 'deleted', counts, warnings };
  const line = other === undefined ? main.requirementsSection!.heading!.number : (other.heading?.number ?? null);
  return refused('main', [
    { line, message: 'It would be deleted with text that belongs to no requirement. Move or delete that text first.' },
  ]);
};

const lastRequirement =
  'It removes the last requirement of the main spec. To delete that spec, set "retire_capabilities: true" in the settings of the change.';

/** The title of a spec does not count. */
const hasText = (lines: readonly Line[]): boolean => lines.some((line) => !isBlank(line) && !/^#\s/.test(line.text));

/** More errors of a main spec are not reported. */
const mostErrors = 100;

/** The outcome, if the main spec would have no errors. */
const checked = ({ delta, main }: Sources, text: string, outcome: Merge): Merge => {
  const errors = checkMainSpec(parseMainSpec(text)).filter(({ level }) => level === 'error');
  if (errors.length === 0) return outcome;
  const before = new Map(checkMainSpec(main).map((issue) => [issue.message, issue]));
  const refusals = errors.slice(0, mostErrors).map(({ message }): Refusal => {
    const known = before.get(message);
    if (known !== undefined) return { file: 'main', line: known.line, message };
    const heading = delta.headings.find(({ name }) => message.includes(`"${name.replace(/^#+\s*/, '')}"`));
    return { file: 'delta', line: heading?.line ?? null, message: `The main spec would be invalid: ${message}` };
  });
  return { kind: 'refused', refusals };
};
