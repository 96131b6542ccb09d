import type { Delta } from './delta.ts';
import { foldName, type Requirement, scenarioNames } from './headings.ts';
import type { MainSpec } from './main-spec.ts';
import { keptPart, newPart, type Part, renamedPart, replacedPart, saysTheSame } from './render.ts';

/*
 * The four steps that lead from a main spec to the merged one: requirements are renamed, removed, modified and added.
 */

export interface MergeCounts {
  readonly added: number;
  readonly modified: number;
  readonly removed: number;
  readonly renamed: number;
}

export interface Refusal {
  /** Which of the two files has to be edited. */
  readonly file: 'delta' | 'main';
  readonly line: number | null;
  readonly message: string;
  /** Whether a scenario of the main spec would be lost. */
  readonly dropsScenario?: true;
}

/** About the delta. */
export interface MergeWarning {
  readonly line: number | null;
  readonly message: string;
}

export interface Edited {
  readonly parts: readonly Part[];
  readonly counts: MergeCounts;
  readonly refusals: readonly Refusal[];
  readonly warnings: readonly MergeWarning[];
}

const noChanges: MergeCounts = { added: 0, modified: 0, removed: 0, renamed: 0 };

/** Only additions make sense for a spec that does not exist. */
export const createParts = ({ added, modified, removed, renamed }: Delta): Edited => ({
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

export const editParts = (main: MainSpec, delta: Delta, lineEnd: string): Edited => {
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

/** The name of a requirement that differs only in case or whitespace. */
const alike = ({ parts, byFold }: Editing, name: string, except?: number): string | null => {
  const index = byFold.get(foldName(name))?.find((each) => each !== except);
  return index === undefined ? null : parts[index]!.name;
};

const notFound = (name: string, similar: string | null): string =>
  `there is no requirement "${name}" in the main spec${similar === null ? '.' : ` (did you mean "${similar}"?).`}`;

const rename = (editing: Editing, { from, to, line }: Delta['renamed'][number]): void => {
  const { byName } = editing;
  const source = byName.get(from);
  const known = alike(editing, from, byName.get(to));
  if (source === undefined && byName.has(to) && known === null) return;
  if (source === undefined) return refuse(editing, line, `RENAMED: ${notFound(from, known)}`);
  if (byName.has(to)) return refuse(editing, line, `RENAMED: there is a requirement "${to}" already.`);
  const similar = alike(editing, to, source);
  if (similar !== null)
    return refuse(editing, line, `RENAMED: "${to}" differs from "${similar}" only in case or whitespace.`);
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
      `ADDED: "${name}" differs from "${similar}" only in case or whitespace. Use MODIFIED with that name, or choose another.`,
    );
  put(editing, editing.parts.length, newPart(requirement, editing.lineEnd));
  editing.counts.added++;
};

/** The names of scenarios that a requirement has in the main spec and not in the delta. */
const lostScenarios = (before: Requirement, after: Requirement): string[] => {
  const left = new Map<string, number>();
  for (const name of scenarioNames(after)) left.set(name, (left.get(name) ?? 0) + 1);
  return scenarioNames(before).filter((name) => {
    const count = left.get(name) ?? 0;
    left.set(name, count - 1);
    return count <= 0;
  });
};

const losing = (name: string, lost: readonly string[]): string =>
  `MODIFIED: "${name}" would lose ${lost.length === 1 ? 'the scenario' : 'the scenarios'} ${lost
    .map((each) => `"${each}"`)
    .join(', ')}. MODIFIED replaces the whole requirement: copy what stays from the main spec.`;
