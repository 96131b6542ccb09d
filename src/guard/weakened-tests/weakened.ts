import type { TestProfile } from './profile.ts';

/** A test file as it was and as it is; null if it was or is not there. */
export interface TestFileChange {
  readonly path: string;
  readonly before: TestProfile | null;
  readonly after: TestProfile | null;
}

export interface Weakening {
  readonly path: string;
  /** One sentence without the path: `lost assertions in "adds two numbers" (3 before, 1 now)`. */
  readonly what: string;
}

/**
 * Returns what makes tests check less than before. Tests that moved to another of the files are not weakened, nor is a
 * test with a new title in a file with as many assertions as before, nor tests that became the rows of a table.
 */
export const weakenings = (changes: readonly TestFileChange[]): Weakening[] =>
  changes.flatMap((change) => {
    const { path, before } = change;
    if (before === null) return [];
    const elsewhere = changes.filter((each) => each.path !== path);
    return weakeningsOf(before, change.after, elsewhere).map((what) => ({ path, what }));
  });

const weakeningsOf = (
  before: TestProfile,
  after: TestProfile | null,
  elsewhere: readonly TestFileChange[],
): string[] => {
  const missing = Object.keys(before.tests).filter((title) => !(title in (after?.tests ?? {})));
  const gone = missing.filter((title) => !hasMoved(title, before, elsewhere));
  if (after === null) return gone.length === 0 && missing.length > 0 ? [] : ['was deleted'];
  const lost = Object.entries(before.tests).filter(([title, count]) => (after.tests[title] ?? count) < count);
  return [
    ...(isRewritten(before, after) ? [] : gone.map((title) => `lost the test ${quoted(title)}`)),
    ...lost.map(([title, count]) => `lost assertions in ${quoted(title)} (${count} before, ${after.tests[title]} now)`),
    ...(after.skips > before.skips
      ? [`gained ${after.skips - before.skips === 1 ? 'a mark that skips' : 'marks that skip'} tests`]
      : []),
  ];
};

/** Whether tests with other titles, or the rows of a table, may have replaced those that are gone. */
const isRewritten = (before: TestProfile, after: TestProfile): boolean =>
  after.tables > before.tables || after.assertions >= before.assertions;

/** A test in a file that skips more than both files did before may not run any more. */
const hasMoved = (title: string, from: TestProfile, elsewhere: readonly TestFileChange[]): boolean =>
  elsewhere.some(
    ({ before, after }) =>
      after !== null &&
      (after.tests[title] ?? -1) >= from.tests[title]! + (before?.tests[title] ?? 0) &&
      after.skips <= from.skips + (before?.skips ?? 0),
  );

const quoted = (title: string): string => `"${title}"`;
