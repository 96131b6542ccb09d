import { checkMainSpec, purposeOf } from './check-main.ts';
import { conflictsIn } from './conflicts.ts';
import { type Delta, parseDelta } from './delta.ts';
import { createParts, editParts, type Edited, type MergeCounts, type MergeWarning, type Refusal } from './edit.ts';
import { hasText, levelOf, requirementsIn } from './headings.ts';
import type { Line } from './lines.ts';
import { isPurpose, type MainSpec, parseMainSpec, type SpecProblem, structureProblems } from './main-spec.ts';
import { lineEndOf, renderSpec } from './render.ts';

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
 * Applies the delta of a change to a main spec: renames, then removes, modifies and adds. Bytes of the main spec that
 * the delta is not about are kept. A delta that is merged already changes nothing, or is rejected if it uses an old name
 * again: the main spec does not show whether the rename is done.
 */
export const mergeSpec = (request: MergeRequest): Merge => {
  const delta = parseDelta(request.delta);
  const conflicts = conflictsIn(delta);
  if (conflicts.length > 0) return refused('delta', conflicts);
  if ([delta.added, delta.modified, delta.removed, delta.renamed].every(({ length }) => length === 0))
    return refused('delta', [{ line: null, message: 'It changes no requirement.' }]);
  const purpose = usablePurpose(request, delta);
  const main = parseMainSpec(request.main ?? skeletonOf(request, purpose));
  const problems = structureProblems(main);
  if (problems.length > 0) return refused('main', problems);
  const edited = request.main === null ? createParts(delta) : editParts(main, delta, lineEndOf(request.main));
  if (edited.refusals.length > 0) return { kind: 'refused', refusals: edited.refusals };
  const isPurposeLost = delta.purpose !== null && purpose === null && request.main === null;
  const warnings = [
    ...edited.warnings,
    ...generalWarnings(request, delta, main),
    ...(isPurposeLost ? [{ line: null, message: unusablePurpose }] : []),
  ];
  return mergedSpec({ request, delta, main }, { ...edited, warnings });
};

const refused = (file: Refusal['file'], problems: readonly (SpecProblem | MergeWarning)[]): Merge => ({
  kind: 'refused',
  refusals: problems.map((problem) => ({ file, ...problem })),
});

/** A new main spec, in the form of OpenSpec, which recognises the placeholder of the purpose. */
const skeletonOf = ({ capability, change }: MergeRequest, purpose: string | null): string =>
  [
    `# ${capability} Specification`,
    '',
    '## Purpose',
    purpose ?? `TBD - created by archiving change ${change}. Update Purpose after archive.`,
    '',
    '## Requirements',
    '',
  ].join('\n');

/** The purpose of a delta; null if there is none, or if a new main spec could not be read with it. */
const usablePurpose = (request: MergeRequest, { purpose }: Delta): string | null => {
  if (purpose === null || purpose.includes('<!--')) return null;
  const main = parseMainSpec(skeletonOf(request, purpose));
  return purposeOf(main) !== '' && structureProblems(main).length === 0 ? purpose : null;
};

const unusablePurpose =
  'Its purpose is not used, because it has a comment or a heading that does not belong there. The main spec gets a placeholder.';

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
const mergedSpec = (sources: Sources, { parts, counts, warnings }: Omit<Edited, 'refusals'>): Merge => {
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
  const other = others.find(({ lines }) => isMoreThanTitle(lines));
  const preamble = requirementsIn(main.requirementsSection?.lines ?? []).before;
  if (other === undefined && !isMoreThanTitle(preamble)) return { kind: 'deleted', counts, warnings };
  const line = other === undefined ? main.requirementsSection!.heading!.number : (other.heading?.number ?? null);
  return refused('main', [
    { line, message: 'It would be deleted with text that belongs to no requirement. Move or delete that text first.' },
  ]);
};

const lastRequirement =
  'It removes the last requirement of the main spec. To delete that spec, set "retire_capabilities: true" in the settings of the change.';

/** The title of a spec does not count. */
const isMoreThanTitle = (lines: readonly Line[]): boolean => hasText(lines.filter((line) => levelOf(line) !== 1));

/** More errors of a main spec are not reported. */
const maxErrors = 100;

/** The outcome, if the main spec would have no errors. */
const checked = ({ delta, main }: Sources, text: string, outcome: Merge): Merge => {
  const errors = checkMainSpec(parseMainSpec(text)).filter(({ level }) => level === 'error');
  if (errors.length === 0) return outcome;
  const before = new Map(checkMainSpec(main).map((issue) => [issue.message, issue]));
  const refusals = errors.slice(0, maxErrors).map(({ message }): Refusal => {
    const known = before.get(message);
    if (known !== undefined) return { file: 'main', line: known.line, message };
    const heading = delta.headings.find(({ name }) => message.includes(`"${name.replace(/^#+\s*/, '')}"`));
    return { file: 'delta', line: heading?.line ?? null, message: `The main spec would be invalid: ${message}` };
  });
  return { kind: 'refused', refusals };
};
