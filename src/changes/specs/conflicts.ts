import type { Delta } from './delta.ts';
import { foldName } from './headings.ts';
import { openBlock, type SpecProblem } from './main-spec.ts';

/** What contradicts itself in a delta, regardless of the main spec. */
export const conflictsIn = (delta: Delta): SpecProblem[] =>
  [...openBlock(delta.openBlock), ...unpairedIn(delta), ...repeatedIn(delta), ...contradictionsIn(delta)].toSorted(
    (a, b) => a.line - b.line,
  );

const unpairedIn = ({ unpaired }: Delta): SpecProblem[] =>
  unpaired.map(({ keyword, name, line }) => ({
    line,
    message:
      keyword === 'FROM'
        ? `FROM: "${name}" has no TO: line. Write the new name in a TO: line below it.`
        : `TO: "${name}" has no FROM: line. Write the old name in a FROM: line above it.`,
  }));

interface Entry {
  readonly name: string;
  readonly line: number;
}

const repeatedIn = ({ added, modified, removed, renamed }: Delta): SpecProblem[] => [
  ...repeated('ADDED', added),
  ...repeated('MODIFIED', modified),
  ...repeated('REMOVED', removed),
  ...repeated(
    'RENAMED as FROM:',
    renamed.map(({ from, line }) => ({ name: from, line })),
  ),
  ...repeated(
    'RENAMED as TO:',
    renamed.map(({ to, line }) => ({ name: to, line })),
  ),
];

const repeated = (where: string, entries: readonly Entry[]): SpecProblem[] => {
  const first = new Map<string, number>();
  return entries.flatMap(({ name, line }) => {
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, line);
    return earlier === undefined ? [] : [{ line, message: `"${name}" is twice in ${where}: also on line ${earlier}.` }];
  });
};

const contradictionsIn = ({ added, modified, removed, renamed }: Delta): SpecProblem[] => {
  const names = (entries: readonly Entry[]) => new Set(entries.map(({ name }) => name));
  const [addedNames, modifiedNames, removedNames] = [names(added), names(modified), names(removed)];
  const removedFolded = new Set(removed.map(({ name }) => foldName(name)));
  const newNames = new Map(renamed.map(({ from, to }) => [from, to]));
  const both = (entry: Entry, first: string, second: string) => ({
    line: entry.line,
    message: `"${entry.name}" is in ${first} and in ${second}. Keep it in one of them.`,
  });
  return [
    ...removed.filter(({ name }) => modifiedNames.has(name)).map((each) => both(each, 'MODIFIED', 'REMOVED')),
    ...added.filter(({ name }) => modifiedNames.has(name)).map((each) => both(each, 'MODIFIED', 'ADDED')),
    ...removed.filter(({ name }) => addedNames.has(name)).map((each) => both(each, 'ADDED', 'REMOVED')),
    ...renamed
      .filter(({ from }) => removedNames.has(from) || removedFolded.has(foldName(from)))
      .map(({ from, line }) => both({ name: from, line }, 'RENAMED', 'REMOVED')),
    ...modified
      .filter(({ name }) => newNames.has(name))
      .map(({ name, line }) => ({
        line,
        message: `MODIFIED uses the old name "${name}". Use the new one: "${newNames.get(name)!}".`,
      })),
    ...renamed
      .filter(({ to }) => addedNames.has(to))
      .map(({ to, line }) => both({ name: to, line }, 'RENAMED (as the new name)', 'ADDED')),
  ];
};
